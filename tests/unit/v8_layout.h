/* tests/unit/v8_layout.h: the layout of V8 11.3's objects, for memory made by hand. */
#ifndef CRESSET_TESTS_V8_LAYOUT_H
#define CRESSET_TESTS_V8_LAYOUT_H

#include "runtime/v8_parts.h"

enum {
	T_SHARED = 262,
	T_SCRIPT = 167,
	T_SCOPE = 261,
	T_CODE = 245,
	T_BYTECODE = 191,
	T_FUNCTION = 2066
};

static const struct v8_layout layout = {
	.version = V8_VERSION(11, 3),
	.map_type = 12,
	.type_function = T_FUNCTION,
	.type_shared = T_SHARED,
	.type_script = T_SCRIPT,
	.type_scope = T_SCOPE,
	.type_code = T_CODE,
	.type_bytecode = T_BYTECODE,
	.function_shared = 24,
	.shared_data = 8,
	.shared_name = 16,
	.shared_script = 32,
	.script_source = 8,
	.script_name = 16,
	.scope_locals = 2,
	.scope_first = 3,
	.bytecode_positions = 32,
	.bytecode_header = 54,
	.code_before = 8,
	.code_start = 40,
	.code_size = 56,
	.code_flags = 48,
	.code_positions = 24,
	.code_deopt = 16,
	.kind_mask = 15,
	.kind_baseline = 11,
	.kind_maglev = 12,
	.kind_turbofan = 13,
	.deopt_shared = 6,
	.deopt_literals = 2,
	.deopt_inlining = 7,
	.string_length = 12,
	.cons_first = 16,
	.cons_second = 24,
	.sliced_parent = 16,
	.sliced_offset = 24,
	.thin_actual = 16,
	.external_resource = 16,
	.chars = 16,
};

#endif
