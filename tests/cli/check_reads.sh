#!/usr/bin/env bash
# tier: test
# tools/check-reads finds calls that another process can make wait, outside the files of workers: each kind is put into a copy once.
. tests/live/lib.sh

mkdir -p "$tmp"/src/collect/{proc,resolve,worker} "$tmp"/src/cmd
says() { # NAME FILE LINE WANT
	find "$tmp/src" -type f -delete
	printf '%b\n' "$3" >"$tmp/src/$2"
	is "$1" "$(tools/check-reads "$tmp/src" 2>&1 | sed "s,$tmp/,,; s/:\t.*//")" "$4"
}

is "the sources are fine" "$(tools/check-reads)" ""
says "the call itself" collect/resolve/x.c '\tprocess_vm_readv(pid, &to, 1, &from, 1, 0);' 'src/collect/resolve/x.c:1'
says "a function that makes it" collect/resolve/x.c '\n\trc = process_memory_read(pid, at, to, len);' 'src/collect/resolve/x.c:2'
says "mappings" collect/resolve/x.c '\tproc_maps_read(pid, visit, ctx);' 'src/collect/resolve/x.c:1'
says "… by path" collect/resolve/x.c '\tsnprintf(path, sizeof path, "/proc/%u/maps", pid);' 'src/collect/resolve/x.c:1'
says "… with PRIu32" collect/resolve/x.c '\tsnprintf(path, sizeof path, "/proc/%" PRIu32 "/map_files/%s", pid, range);' 'src/collect/resolve/x.c:1'
says "… in its directory" collect/resolve/x.c '\tfd = openat(process, "maps", O_RDONLY);' 'src/collect/resolve/x.c:1'
says "a file system" collect/resolve/x.c '\tif (statfs(path, &st))' 'src/collect/resolve/x.c:1'
says "an environment" collect/resolve/x.c '\tsnprintf(path, sizeof path, "/proc/%d/environ", pid);' 'src/collect/resolve/x.c:1'
says "a root" collect/resolve/x.c '\tsnprintf(path, sizeof path, "/proc/%" PRIu32 "/root", pid);' 'src/collect/resolve/x.c:1'
says "a program's file" collect/resolve/x.c '\tsnprintf(path, sizeof path, "/proc/%" PRIu32 "/exe", pid);' 'src/collect/resolve/x.c:1'
says "a probe" collect/resolve/x.c '\tlink = bpf_program__attach_uprobe_opts(program, -1, path, at, &opts);' 'src/collect/resolve/x.c:1'
says "… with one link for many places" collect/resolve/x.c '\tfd = probe_link_multi(program, file, places, n, false);' 'src/collect/resolve/x.c:1'
says "… by the call itself" collect/resolve/x.c '\tsyscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof attr);' 'src/collect/resolve/x.c:1'
says "… as an event" collect/resolve/x.c '\tattr.uprobe_path = (uintptr_t)path;' 'src/collect/resolve/x.c:1'
says "… by its number" collect/resolve/x.c '\tsyscall(SYS_process_vm_readv, pid, &to, 1, &from, 1, 0);' 'src/collect/resolve/x.c:1'
says "… passed on" collect/resolve/x.c '\tconst struct runtime_memory memory = { process_memory_read, a };' 'src/collect/resolve/x.c:1'
says "a trace" collect/resolve/x.c '\tptrace(PTRACE_SEIZE, pid, 0, 0);' 'src/collect/resolve/x.c:1'
says "a descriptor" collect/resolve/x.c '\tsyscall(SYS_pidfd_getfd, pidfd, 3, 0);' 'src/collect/resolve/x.c:1'
says "a name that is put into a path" collect/resolve/x.c '\tsnprintf(path, sizeof path, "/proc/%u/%s", pid, name);' 'src/collect/resolve/x.c:1'
says "… or given to a helper" collect/resolve/x.c '\tread_file(pid, "environ", &b);' 'src/collect/resolve/x.c:1'
says "… after a directory" collect/resolve/x.c '\tbuf_addf(&b, "%s/maps", dir);' 'src/collect/resolve/x.c:1'
says "a path in several lines" collect/resolve/x.c '\tsnprintf(path, sizeof path,\n\t\t "/proc/%" PRIu32\n\t\t "/maps", pid);' 'src/collect/resolve/x.c:1'
says "… of a thread" collect/resolve/x.c '\tsnprintf(path, sizeof path, "/proc/%" PRIu32 "/task/%" PRIu32 "/maps", pid, tid);' 'src/collect/resolve/x.c:1'
for file in smaps_rollup numa_maps pagemap auxv io stack syscall; do
	says "… $file" collect/resolve/x.c "\tsnprintf(path, sizeof path, \"/proc/%d/$file\", pid);" 'src/collect/resolve/x.c:1'
done
says "a root, by number" collect/resolve/x.c '\tfd = syscall(SYS_openat2, process, "root", &how, sizeof how);' 'src/collect/resolve/x.c:1'
says "a comment over several lines does not count" collect/resolve/x.c '/* process_vm_readv(2)\n * ptrace(2) */' ''
says "a function that another file could call" collect/proc/process_memory.c 'int memory_peek(pid_t pid)\n{' "src/collect/proc/process_memory.c:1: memory_peek: no list of tools/check-reads has this function"
says "… which is not one that is static" collect/proc/process_memory.c 'static int memory_peek(pid_t pid)\n{' ''
says "… nor a listed one" collect/proc/process_memory.c 'int process_memory_read(uint32_t pid, uint64_t addr)\n{' ''
says "another name in a file that puts names into paths" collect/proc/proc_stat.c '\trc = read_file(pid, "environ", &b);' 'src/collect/proc/proc_stat.c:1'
says "the worker that places them may" collect/worker/probe_worker.c '\tfd = probe_link_multi(program, file, places, n, false);' ''
says "the worker may" collect/worker/proc_reader_worker.c '\tprocess_memory_read(pid, at, to, len);' ''
says "a command may" cmd/x.c '\tproc_maps_read(pid, visit, ctx);' ''
says "a comment does not count" collect/resolve/x.c '/* process_vm_readv(2) waits */' ''
says "calls without a lock of the process are fine" collect/resolve/x.c '\tsnprintf(path, sizeof path, "/proc/%u/status", pid);' ''
says "nor does a reader" collect/resolve/x.c '\tproc_reader_memory(r, pid, at, to, len);' ''
finish
