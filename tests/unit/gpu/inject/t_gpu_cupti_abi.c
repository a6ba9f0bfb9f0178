// tier: test
/* Our declarations of CUPTI compared with its headers, and our use of it with the library itself, if the CUDA toolkit is installed. */
#include "unit.h"

#include "gpu/inject/cupti_abi.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdbool.h>
#include <unistd.h>

static bool find(const char *pattern, char out[512])
{
	glob_t g;
	bool found = glob(pattern, 0, NULL, &g) == 0;

	if (found)
		snprintf(out, 512, "%s", g.gl_pathv[0]);
	globfree(&g);
	return found;
}

/* The directory of cupti.h. */
static bool find_headers(char out[512])
{
	bool found = find("/usr/local/cuda/include/cupti.h", out) ||
		     find("/usr/local/cuda-*/include/cupti.h", out) ||
		     find("/usr/local/cuda*/extras/CUPTI/include/cupti.h", out) ||
		     find("/usr/include/cupti.h", out);

	if (found)
		*strrchr(out, '/') = 0;
	return found;
}

START_TEST(headers)
{
	char include[512], command[1200];

	if (!find_headers(include))
		T_SKIP("no CUPTI headers are installed");
	snprintf(command, sizeof command,
		 "cc -std=gnu11 -fsyntax-only -Isrc -I%s tests/unit/gpu/cupti_abi_check.c",
		 include);
	ck_assert_int_eq(system(command), 0);
}
END_TEST

static const char *const wanted_names = "(cu|cuda)(Memcpy|Memset|Launch|GraphLaunch|ThreadExit|"
					"DeviceReset|CtxDestroy|DevicePrimaryCtxRe(lease|set))";

/* The headers' name for this number must be one of the intended calls. */
static void check_calls(const char *include, const char *file, const char *domain,
			const uint16_t *calls, size_t n)
{
	char command[1400], line[256];

	for (size_t i = 0; i < n; i++) {
		snprintf(command, sizeof command,
			 "grep -E 'CUPTI_%s_TRACE_CBID_[^ ]* *= %u,' %s/%s", domain, calls[i],
			 include, file);
		FILE *f = popen(command, "r");

		ck_assert_ptr_nonnull(f);
		if (fgets(line, sizeof line, f)) { /* an older toolkit has fewer */
			snprintf(command, sizeof command, "echo '%.*s' | grep -qE 'CBID_%s'",
				 (int)strcspn(line, "\n"), line, wanted_names);
			ck_assert_msg(system(command) == 0, "%u is %s", calls[i], line);
		}
		pclose(f);
	}
}

START_TEST(call_numbers)
{
	char include[512];

	if (!find_headers(include))
		T_SKIP("no CUPTI headers are installed");
#define CHECK(calls, file, domain) \
	check_calls(include, file, domain, calls, sizeof calls / sizeof *calls)
	CHECK(launch_calls_runtime, "cupti_runtime_cbid.h", "RUNTIME");
	CHECK(copy_calls_runtime, "cupti_runtime_cbid.h", "RUNTIME");
	CHECK(ending_calls_runtime, "cupti_runtime_cbid.h", "RUNTIME");
	CHECK(launch_calls_driver, "cupti_driver_cbid.h", "DRIVER");
	CHECK(copy_calls_driver, "cupti_driver_cbid.h", "DRIVER");
	CHECK(ending_calls_driver, "cupti_driver_cbid.h", "DRIVER");
#undef CHECK
}
END_TEST

/* The real library has every function; without a driver it returns the error that means "inert". */
START_TEST(real_library)
{
	char path[512];

	if (!find("/usr/local/cuda/lib64/libcupti.so.1[1-9]", path) &&
	    !find("/usr/local/cuda-*/lib64/libcupti.so.1[1-9]", path) &&
	    !find("/usr/lib/*/libcupti.so.1[1-9]*", path))
		T_SKIP("no libcupti is installed");
	void *lib = dlopen(path, RTLD_NOW);
	uint32_t version = 0;
	void *subscriber = NULL;

	ck_assert_msg(lib != NULL, "%s", dlerror());
#define THERE(name, ...) ck_assert_msg(dlsym(lib, "cupti" #name) != NULL, "cupti" #name);
	CUPTI_FUNCTIONS(THERE, THERE)
#undef THERE
	ck_assert_int_eq(((int (*)(uint32_t *))dlsym(lib, "cuptiGetVersion"))(&version), 0);
	ck_assert_uint_ge(version, CUPTI_OLDEST);
	if (access("/dev/nvidiactl", F_OK) == 0)
		T_SKIP("there is a driver");
	int rc = ((int (*)(void **, void *, void *))dlsym(lib, "cuptiSubscribe"))(&subscriber, NULL,
										  NULL);

	ck_assert_int_ne(rc, CUPTI_OK);
	ck_assert_int_ne(rc, CUPTI_MULTIPLE_SUBSCRIBERS);
}
END_TEST

UNIT_MAIN("gpu-cupti-abi", headers, call_numbers, real_library)
