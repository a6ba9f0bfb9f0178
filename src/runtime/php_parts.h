/* runtime/php_parts.h: PHP 7.4 to 8.4, built without threads (NTS): the interfaces between its
 * files, and for runtimes.c.
 *
 * PHP is found by executor_globals and execute_ex, which every build exports; its version by the
 * text that it sends to HTTP clients. The layout is from a table by version. The walker sends the
 * names: functions of a request may be gone after it. */
#ifndef CRESSET_RUNTIME_PHP_PARTS_H
#define CRESSET_RUNTIME_PHP_PARTS_H

#include "bpf/php.h"
#include "runtime/mapped_code.h"
#include "runtime/runtime.h"

#include <stdbool.h>
#include <stdint.h>

struct elf_file;
struct err;

extern const struct runtime_kind php_runtime;

/* The walker's map: processes by pid (bpf/php.h). */
#define PHP_PROCESSES "php_processes"

/* --- php_file.c ------------------------------------------------------------------------------- */

/* How PHP's C code runs instructions (zend_vm_kind): only in a hybrid loop are they addresses
 * inside of it, which the JIT's code jumps between. */
enum php_vm { PHP_VM_UNKNOWN = 0, PHP_VM_CALL = 1, PHP_VM_SWITCH, PHP_VM_GOTO, PHP_VM_HYBRID };

/* Offsets in bytes; addresses as linked. */
struct php_file {
	uint32_t major, minor, patch;
	uint64_t globals; /* executor_globals */
	uint16_t current; /* executor_globals → innermost execute_data */
	uint16_t func_last, func_opcodes, func_file, func_lines; /* bpf/php.h */
	enum php_vm vm;
	struct code_range loop[LOOP_PARTS_MAX];
	uint32_t n_loop;
	/* As in bpf/php.h; 0: unknown. */
	uint64_t body;
	uint32_t body_cfa;
	bool is_by_fp;
	struct mapped_code code;
};

/* As detect in runtime.h. */
int php_file_read(const struct elf_file *f, struct php_file *out, struct err *err);

#endif
