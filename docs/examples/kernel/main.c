/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include "hello.h"

int main(void)
{
	const char *why;
	const struct gdakit_rt *rt = gdakit_rt_open(NULL, &why); /* a GPU if there is one */
	struct hello_args args;
	int rc;

	if (!rt)
		return printf("no place to run kernels: %s\n", why), 1;
	rt->host_alloc((void **)&args.sums, 2 * sizeof(args.sums[0]));
	rc = GDAKIT_PICK(rt, hello)->launch(NULL, &args);
	if (!rc)
		rc = rt->stream_synchronize(NULL);
	printf("%s: %s, sums %u %u\n", rt->name, rt->error_string(rc), args.sums[0], args.sums[1]);
	rt->host_free(args.sums);
	return rc;
}
