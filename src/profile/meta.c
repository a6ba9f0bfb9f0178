/* The table of loss reasons, and times of losses as text. */
#include "profile/sink.h"

#include "base/buf.h"
#include "base/fmt.h"

const struct loss_info loss_reasons[LOSS_REASONS] = {
	[LOSS_RING_FULL] = { "ring_full", "ring buffer full", "use a larger --buffer", 1 },
	[LOSS_RING_BUSY] = { "ring_busy", "ring buffer locked by another CPU",
			     "sample at a lower --freq", 1 },
	[LOSS_STACK_RING_FULL] = { "stack_ring_full", "stack memory full: recorded without frames",
				   "use a larger --buffer", 0 },
	[LOSS_SAMPLER_BUSY] = { "sampler_busy", "the sampler itself was running", "", 1 },
	[LOSS_UNCOUNTED] = { "uncounted",
			     "periods in which other programs had the hardware counter: other "
			     "samples stand for them",
			     "use --clock cpu-clock", 0 },
	[LOSS_CYCLES_GONE] = { "cycles_gone", "no ticks of the hardware counter on a busy CPU",
			       "use --clock cpu-clock", 1 },
	[LOSS_MAPPINGS_FULL] = { "mappings_full",
				 "processes and mappings beyond the limits: frames are missing", "",
				 0 },
	[LOSS_TARGETS_FULL] = { "targets_full", "children not followed: too many targets",
				"record the whole machine with -a", 0 },
	[LOSS_WAITS_UNSEEN] = { "waits_unseen",
				"waits without a stack: the kernel did not show the switch at "
				"their "
				"end",
				"", 1 },
	[LOSS_THREADS_UNKNOWN] = { "threads_unknown", "threads without times and waits: table full",
				   "", 0 },
	[LOSS_SIDE_BAND] = { "side_band",
			     "records of new processes and mappings lost: processes were read "
			     "again",
			     "", 0 },
	[LOSS_QUEUE_FULL] = { "queue_full", "samples the store did not take in time",
			      "see the log of the store process", 1 },
	[LOSS_LATE] = { "late", "records taken later than their time", "", 0 },
	[LOSS_OBJECT_GONE] = { "object_gone", "files gone before they could be opened", "", 0 },
	[LOSS_OBJECT_CLOSED] = { "object_closed",
				 "files closed at the limit of descriptors, then gone",
				 "raise the limit of open files (ulimit -n)", 0 },
	[LOSS_INPUT_SKIPPED] = { "input_skipped", "parts of the input that could not be read", "",
				 0, .is_input = 1 },
	[LOSS_SYMBOLS_SKIPPED] = { "symbols_skipped",
				   "symbol tables or entries that could not be read", "", 0 },
	[LOSS_TIMES_DROPPED] = { "times_dropped", "samples that lost their time: too many",
				 "read a part of the file", 0, .is_input = 1 },
	[LOSS_LINKS_DROPPED] = { "links_dropped", "samples that lost their trace: too many spans",
				 "read a part of the file", 0 },
	[LOSS_TRACES_UNREAD] = { "traces_unread",
				 "samples without a trace: the thread's trace could not be read",
				 "", 0 },
	[LOSS_TRACED_FULL] = { "traced_full", "processes without traces: too many", "", 0 },
	[LOSS_PYTHON_UNREAD] = { "python_unread", "stacks with missing Python frames", "", 0 },
	[LOSS_PYTHON_UNNAMED] = { "python_unnamed",
				  "Python frames without a name: their code was freed", "", 0 },
	[LOSS_PYTHONS_FULL] = { "pythons_full", "processes without Python frames: too many", "",
				0 },
	[LOSS_GPU_RING_FULL] = { "gpu_ring_full", "calls of GPU libraries: ring buffer full",
				 "use a larger --buffer", 1 },
	[LOSS_GPU_UNSEEN] = { "gpu_unseen", "calls of GPU libraries not recorded: table full", "",
			      1 },
	[LOSS_GPU_UNREADABLE] = { "gpu_unreadable",
				  "calls of GPU libraries with unreadable arguments", "", 0 },
	[LOSS_GPU_MEMORY_FULL] = { "gpu_memory_full", "GPU allocations not recorded: table full",
				   "", 0 },
	[LOSS_GPU_FREES_UNKNOWN] = { "gpu_frees_unknown", "GPU frees of earlier allocations", "",
				     0 },
	[LOSS_GPU_UNPROBED] = { "gpu_unprobed",
				"functions and files of GPU libraries that cannot be probed", "",
				0 },
	[LOSS_GPU_RECORDS] = { "gpu_records",
			       "kernels and copies dropped in the program that ran them", "", 1 },
	[LOSS_GPU_UNWATCHED] = { "gpu_unwatched",
				 "ms of GPU programs without GPU times: cresset had no CPU time",
				 "", 0 },
	[LOSS_GPU_NAMES] = { "gpu_names", "names of GPU kernels dropped: table full", "", 0 },
	[LOSS_GPU_RING_BAD] = { "gpu_ring_bad", "invalid records of a GPU program", "", 0 },
	[LOSS_GPU_STALLS] = { "gpu_stalls", "samples of GPU stalls dropped: table full", "", 1 },
	[LOSS_GPU_CODE] = { "gpu_code", "samples of GPU stalls in code without a copy or file", "",
			    0 },
	[LOSS_GPU_CODE_UNREAD] = { "gpu_code_unread",
				   "pieces of GPU code in files that could not be read", "", 0 },
	[LOSS_READINGS_FULL] = { "readings_full", "GPU readings beyond the limit of a recording",
				 "record for a shorter time", 0 },
	[LOSS_LEFT_OUT] = { "left_out", "samples excluded by --only, --exclude or relabel rules",
			    "", 0 },
	[LOSS_CODE_UNREAD] = { "code_unread",
			       "frames of generated code without a name: perf map or jitdump "
			       "unreadable, or of another program",
			       "", 0 },
	[LOSS_INPUT_CUT] = { "input_cut", "slices of the input cut where they overlap another one",
			     "", 0, .is_input = 1 },
	[LOSS_INPUT_ROUNDED] = { "input_rounded",
				 "stacks of the input with a value rounded to an integer", "", 0,
				 .is_input = 1 },
	[LOSS_INPUT_SCALED] = { "input_scaled",
				"stacks of the input with a fraction: all values are scaled", "", 0,
				.is_input = 1 },
	[LOSS_INPUT_PRUNED] = { "input_pruned",
				"samples without frames that the file drops (drop_frames)",
				"--all-frames shows them", 0, .is_input = 1 },
	[LOSS_INPUT_SUMMARY] = { "input_summary",
				 "events of the input skipped, since they are sums of others", "",
				 0, .is_input = 1 },
	[LOSS_BUILD_ID_SHARED] = { "build_id_shared",
				   "files with the build id of another file: identified by path "
				   "only",
				   "link each with a build id of its own", 0 },
	[LOSS_INPUT_ASYNC] = { "input_async",
			       "asynchronous events of the input left out, as they are in no "
			       "thread's stack",
			       "", 0, .is_input = 1 },
};

void loss_time_text(struct buf *b, const struct profile_meta *m, enum loss reason)
{
	int64_t ns = m->loss_ns[reason];
	if (!ns)
		return;
	buf_adds(b, ns < 0 ? ", -" : ", ");
	fmt_duration(b, ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns);
	buf_adds(b, " in all");
}
