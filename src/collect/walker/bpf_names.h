/* collect/walker/bpf_names.h: names of the functions of loaded BPF programs, as /proc/kallsyms has
 * them ("bpf_prog_6deef7357e7b4530_on_cpu"), from the kernel's information about each program: a
 * few system calls instead of a file of some megabytes. */
#ifndef CRESSET_COLLECT_WALKER_BPF_NAMES_H
#define CRESSET_COLLECT_WALKER_BPF_NAMES_H

struct symbol_source;

/* Returns a source with run-time addresses; NULL: none is loaded, or it is not permitted. */
struct symbol_source *bpf_names_open(void);

#endif
