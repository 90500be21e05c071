// SPDX-License-Identifier: BSD-3-Clause
/*
 * What GPUNetIO's example programs take from its internal headers, included as they do it: the log,
 * by its C++ name. Prints a line on stderr if DOCA_GPUNETIO_LOG is 3 or more.
 */
#include "doca_internal.hpp"
#include <doca_verbs_uar.hpp>

int main()
{
	std::vector<std::string> words = {"a", "line"};

	DOCA_LOG(LOG_ERR, "%s %s: %d", words[0].c_str(), words[1].c_str(), 7);
	DOCA_LOG(LOG_DEBUG, "not this one");
	return doca_verbs_uar_id_get(nullptr, nullptr) == DOCA_ERROR_INVALID_VALUE ? 0 : 1;
}
