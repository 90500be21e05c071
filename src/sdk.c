/* SPDX-License-Identifier: BSD-3-Clause */
#include "sdk.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"

#define SDK_PATH_ENV "DOCA_SDK_LIB_PATH"
enum { SDK_MAJOR = 3 }; /* whose functions have the arguments in sdk.h */

/*
 * The SDK's libraries call functions that this library exports under the same names. Deep binding
 * gives them their own. The sanitizers refuse it; a program under them finds ours first.
 */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OWN_NAMES_FIRST 0
#else
#define OWN_NAMES_FIRST RTLD_DEEPBIND
#endif

/*
 * In this order: each needs those before it, by names that the loader would not find outside its
 * paths. So the first two are there for all.
 */
static const struct {
	const char *name;
	int flags;
} libraries[SDK_LIBRARIES] = {
	[SDK_COMMON] = {"libdoca_common.so", RTLD_GLOBAL},
	[SDK_VERBS] = {"libdoca_verbs.so", RTLD_GLOBAL},
	[SDK_GPUNETIO] = {"libdoca_gpunetio.so", RTLD_LOCAL},
};

#define SDK_ROW_(library, ret, member, symbol, args)                                               \
	{library, #symbol, offsetof(struct sdk_ops, member)},
static const struct {
	enum sdk_library library;
	const char *name;
	size_t offset; /* of the pointer in struct sdk_ops */
} symbols[] = {SDK_SYMBOLS(SDK_ROW_)};

static pthread_once_t load_once = PTHREAD_ONCE_INIT;
static struct sdk_ops loaded;
static bool is_loaded;

/* The user asked for the SDK by name, so he hears why he does not get it, whatever the log level.
 */
#define REFUSE(path, fmt, ...)                                                                     \
	ENGINE_LOG(LOG_EMERG, SDK_PATH_ENV "=%s: " fmt "; the DOCA SDK is not used", path,         \
		   __VA_ARGS__)

static bool open_libraries(const char *path, void *handles[SDK_LIBRARIES])
{
	char file[PATH_MAX];

	for (int i = 0; i < SDK_LIBRARIES; i++) {
		int len = snprintf(file, sizeof(file), "%s/%s", path, libraries[i].name);

		if (len < 0 || (size_t)len >= sizeof(file)) {
			REFUSE(path, "the path has more than %d characters", PATH_MAX);
			return false;
		}
		handles[i] = dlopen(file, RTLD_NOW | OWN_NAMES_FIRST | libraries[i].flags);
		if (!handles[i]) {
			REFUSE(path, "cannot load %s: %s", libraries[i].name, dlerror());
			return false;
		}
	}
	return true;
}

static bool find_symbols(const char *path, void *const handles[SDK_LIBRARIES])
{
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		void *address = dlsym(handles[symbols[i].library], symbols[i].name);

		if (!address) {
			REFUSE(path, "%s has no symbol %s", libraries[symbols[i].library].name,
			       symbols[i].name);
			return false;
		}
		memcpy((char *)&loaded + symbols[i].offset, &address, sizeof(address));
	}
	return true;
}

static bool check_version(const char *path)
{
	const char *version = loaded.version_runtime();
	char *end = NULL;

	if (version && strtol(version, &end, 10) == SDK_MAJOR && *end == '.')
		return true;
	REFUSE(path, "its version is '%s', expected %d.x", version ? version : "(none)", SDK_MAJOR);
	return false;
}

static void load(void)
{
	const char *path = getenv(SDK_PATH_ENV);
	void *handles[SDK_LIBRARIES] = {NULL};

	if (!path || !*path)
		return;
	is_loaded =
		open_libraries(path, handles) && find_symbols(path, handles) && check_version(path);
	if (is_loaded) {
		ENGINE_INFO(SDK_PATH_ENV "=%s: GPU objects and memory are the DOCA SDK's, %s", path,
			    loaded.version_runtime());
		return;
	}
	for (int i = SDK_LIBRARIES - 1; i >= 0; i--) {
		if (handles[i])
			dlclose(handles[i]);
	}
}

const struct sdk_ops *sdk_get(void)
{
	pthread_once(&load_once, load);
	return is_loaded ? &loaded : NULL;
}
