// tier: test
/* Our declarations in gpu/device/nvml.h compared with the vendor's header, if installed (Debian: libnvidia-ml-dev). */
#include "unit.h"

#include "gpu/device/nvml.h"

#if __has_include(<nvml.h>)
#include <nvml.h>

#define SAME_SIZE(ours, theirs) \
	_Static_assert(sizeof(struct ours) == sizeof(theirs), #ours " is not " #theirs)
#define SAME_PLACE(ours, our_member, theirs, their_member) \
	_Static_assert(offsetof(struct ours, our_member) == offsetof(theirs, their_member) && \
			       sizeof(((struct ours *)0)->our_member) == \
				       sizeof(((theirs *)0)->their_member), \
		       #ours "." #our_member " is not " #theirs "." #their_member)

SAME_SIZE(nvml_memory, nvmlMemory_t);
SAME_PLACE(nvml_memory, total, nvmlMemory_t, total);
SAME_PLACE(nvml_memory, free, nvmlMemory_t, free);
SAME_PLACE(nvml_memory, used, nvmlMemory_t, used);
SAME_SIZE(nvml_memory_v2, nvmlMemory_v2_t);
SAME_PLACE(nvml_memory_v2, version, nvmlMemory_v2_t, version);
SAME_PLACE(nvml_memory_v2, total, nvmlMemory_v2_t, total);
SAME_PLACE(nvml_memory_v2, reserved, nvmlMemory_v2_t, reserved);
SAME_PLACE(nvml_memory_v2, free, nvmlMemory_v2_t, free);
SAME_PLACE(nvml_memory_v2, used, nvmlMemory_v2_t, used);
SAME_SIZE(nvml_utilization, nvmlUtilization_t);
SAME_PLACE(nvml_utilization, gpu, nvmlUtilization_t, gpu);
SAME_PLACE(nvml_utilization, memory, nvmlUtilization_t, memory);
SAME_SIZE(nvml_pci, nvmlPciInfo_t);
SAME_PLACE(nvml_pci, bus_text, nvmlPciInfo_t, busId);
SAME_SIZE(nvml_sample, nvmlSample_t);
SAME_PLACE(nvml_sample, time_us, nvmlSample_t, timeStamp);
SAME_PLACE(nvml_sample, value, nvmlSample_t, sampleValue);
SAME_SIZE(nvml_field, nvmlFieldValue_t);
SAME_PLACE(nvml_field, id, nvmlFieldValue_t, fieldId);
SAME_PLACE(nvml_field, scope, nvmlFieldValue_t, scopeId);
SAME_PLACE(nvml_field, type, nvmlFieldValue_t, valueType);
SAME_PLACE(nvml_field, result, nvmlFieldValue_t, nvmlReturn);
SAME_PLACE(nvml_field, value, nvmlFieldValue_t, value);
SAME_SIZE(nvml_process, nvmlProcessInfo_t);
SAME_PLACE(nvml_process, pid, nvmlProcessInfo_t, pid);
SAME_PLACE(nvml_process, memory_bytes, nvmlProcessInfo_t, usedGpuMemory);
SAME_SIZE(nvml_process_use, nvmlProcessUtilizationSample_t);
SAME_PLACE(nvml_process_use, pid, nvmlProcessUtilizationSample_t, pid);
SAME_PLACE(nvml_process_use, time_us, nvmlProcessUtilizationSample_t, timeStamp);
SAME_PLACE(nvml_process_use, sm, nvmlProcessUtilizationSample_t, smUtil);

START_TEST(numbers_are_the_vendors)
{
	ck_assert_int_eq(NVML_OK, NVML_SUCCESS);
	ck_assert_int_eq(NVML_NOT_SUPPORTED, NVML_ERROR_NOT_SUPPORTED);
	ck_assert_int_eq(NVML_NO_PERMISSION, NVML_ERROR_NO_PERMISSION);
	ck_assert_int_eq(NVML_NOT_FOUND, NVML_ERROR_NOT_FOUND);
	ck_assert_int_eq(NVML_INSUFFICIENT_SIZE, NVML_ERROR_INSUFFICIENT_SIZE);
	ck_assert_int_eq(NVML_DRIVER_NOT_LOADED, NVML_ERROR_DRIVER_NOT_LOADED);
	ck_assert_int_eq(NVML_LIBRARY_NOT_FOUND, NVML_ERROR_LIBRARY_NOT_FOUND);
	ck_assert_int_eq(NVML_FUNCTION_NOT_FOUND, NVML_ERROR_FUNCTION_NOT_FOUND);
	ck_assert_int_eq(NVML_GPU_IS_LOST, NVML_ERROR_GPU_IS_LOST);
	ck_assert_int_eq(NVML_RESET_REQUIRED, NVML_ERROR_RESET_REQUIRED);
	ck_assert_int_eq(NVML_OF_GRAPHICS, NVML_CLOCK_GRAPHICS);
	ck_assert_int_eq(NVML_OF_SM, NVML_CLOCK_SM);
	ck_assert_int_eq(NVML_OF_MEM, NVML_CLOCK_MEM);
	ck_assert_int_eq(NVML_SENSOR_GPU, NVML_TEMPERATURE_GPU);
	ck_assert_int_eq(NVML_LIMIT_SHUTDOWN, NVML_TEMPERATURE_THRESHOLD_SHUTDOWN);
	ck_assert_int_eq(NVML_LIMIT_SLOWDOWN, NVML_TEMPERATURE_THRESHOLD_SLOWDOWN);
	ck_assert_int_eq(NVML_LIMIT_MEM_MAX, NVML_TEMPERATURE_THRESHOLD_MEM_MAX);
	ck_assert_int_eq(NVML_LIMIT_GPU_MAX, NVML_TEMPERATURE_THRESHOLD_GPU_MAX);
	ck_assert_int_eq(NVML_PCIE_TX, NVML_PCIE_UTIL_TX_BYTES);
	ck_assert_int_eq(NVML_PCIE_RX, NVML_PCIE_UTIL_RX_BYTES);
	ck_assert_int_eq(NVML_ERROR_CORRECTED, NVML_MEMORY_ERROR_TYPE_CORRECTED);
	ck_assert_int_eq(NVML_ERROR_UNCORRECTED, NVML_MEMORY_ERROR_TYPE_UNCORRECTED);
	ck_assert_int_eq(NVML_ECC_VOLATILE, NVML_VOLATILE_ECC);
	ck_assert_int_eq(NVML_RETIRED_SINGLE_BIT,
			 NVML_PAGE_RETIREMENT_CAUSE_MULTIPLE_SINGLE_BIT_ECC_ERRORS);
	ck_assert_int_eq(NVML_RETIRED_DOUBLE_BIT, NVML_PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR);
	ck_assert_int_eq(NVML_SAMPLES_POWER, NVML_TOTAL_POWER_SAMPLES);
	ck_assert_int_eq(NVML_SAMPLES_GPU, NVML_GPU_UTILIZATION_SAMPLES);
	ck_assert_int_eq(NVML_SAMPLES_MEMORY, NVML_MEMORY_UTILIZATION_SAMPLES);
	ck_assert_int_eq(NVML_VALUE_ULLONG, NVML_VALUE_TYPE_UNSIGNED_LONG_LONG);
	ck_assert_int_eq(NVML_FIELD_NVLINK_TX, NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX);
	ck_assert_int_eq(NVML_FIELD_NVLINK_RX, NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX);
	ck_assert_uint_eq(NVML_MEMORY_V2, nvmlMemory_v2);
}
END_TEST
#else
START_TEST(numbers_are_the_vendors)
{
	T_SKIP("the vendor's nvml.h is not here (Debian non-free: libnvidia-ml-dev)");
}
END_TEST
#endif

UNIT_MAIN("nvml_abi", numbers_are_the_vendors)
