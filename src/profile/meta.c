#include "profile/sink.h"

#include "base/buf.h"
#include "base/fmt.h"

const struct loss_info loss_reasons[LOSS_REASONS] = {
	[LOSS_RING_FULL] = { "ring_full", "ring buffer full", "use a larger --buffer", 1 },
	[LOSS_RING_BUSY] = { "ring_busy", "ring buffer locked by another CPU",
			     "sample at a lower --freq", 1 },
	[LOSS_STACK_RING_FULL] = { "stack_ring_full", "no room for the stack: kept without frames",
				   "use a larger --buffer", 0 },
	[LOSS_SAMPLER_BUSY] = { "sampler_busy", "the sampler itself was running", "", 1 },
	[LOSS_UNCOUNTED] = { "uncounted",
			     "periods in which other programs had the hardware counter: other "
			     "samples stand for them",
			     "use --clock cpu-clock", 0 },
	[LOSS_CYCLES_GONE] = { "cycles_gone", "no ticks of the hardware counter on a busy CPU",
			       "use --clock cpu-clock", 1 },
	[LOSS_MAPPINGS_FULL] = { "mappings_full",
				 "processes walked by frame pointers only: no room for their "
				 "mappings",
				 "", 0 },
	[LOSS_TARGETS_FULL] = { "targets_full", "children not followed: too many targets",
				"record the whole machine with -a", 0 },
	[LOSS_WAITS_UNSEEN] = { "waits_unseen",
				"waits without a stack: the kernel did not show the switch at "
				"their "
				"end",
				"", 1 },
	[LOSS_THREADS_UNKNOWN] = { "threads_unknown",
				   "threads whose times and waits are not known: no room for them",
				   "", 0 },
	[LOSS_SIDE_BAND] = { "side_band",
			     "records of new processes and mappings lost: processes were read "
			     "again",
			     "", 0 },
	[LOSS_QUEUE_FULL] = { "queue_full", "samples the store did not take in time",
			      "see what its process says", 1 },
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
	[LOSS_TRACES_UNREAD] = { "traces_unread", "samples whose thread's trace could not be read",
				 "", 0 },
	[LOSS_TRACED_FULL] = { "traced_full",
			       "processes whose threads' traces are not read: too many", "", 0 },
	[LOSS_PYTHON_UNREAD] = { "python_unread", "stacks without all their frames of Python", "",
				 0 },
	[LOSS_PYTHON_UNNAMED] = { "python_unnamed",
				  "frames of Python without a name: their code was gone", "", 0 },
	[LOSS_PYTHONS_FULL] = { "pythons_full",
				"processes whose frames of Python are not read: too many", "", 0 },
	[LOSS_GPU_RING_FULL] = { "gpu_ring_full", "calls of a GPU's libraries: ring buffer full",
				 "use a larger --buffer", 1 },
	[LOSS_GPU_UNSEEN] = { "gpu_unseen",
			      "calls of a GPU's libraries not looked at: no room to do so", "", 1 },
	[LOSS_GPU_UNREADABLE] = { "gpu_unreadable",
				  "calls of a GPU's libraries with arguments that could not be "
				  "read",
				  "", 0 },
	[LOSS_GPU_MEMORY_FULL] = { "gpu_memory_full",
				   "allocations on a GPU that were not kept: no room", "", 0 },
	[LOSS_GPU_FREES_UNKNOWN] = { "gpu_frees_unknown",
				     "frees on a GPU of what was allocated before", "", 0 },
	[LOSS_GPU_UNPROBED] = { "gpu_unprobed",
				"functions and files of a GPU's libraries that cannot be probed",
				"", 0 },
	[LOSS_GPU_RECORDS] = { "gpu_records",
			       "kernels and copies dropped in the program that ran them", "", 1 },
	[LOSS_GPU_UNWATCHED] = { "gpu_unwatched",
				 "ms of GPU programs in which what ran was not recorded: cresset "
				 "did not get to run",
				 "", 0 },
	[LOSS_GPU_NAMES] = { "gpu_names", "names of GPU kernels there was no room for", "", 0 },
	[LOSS_GPU_RING_BAD] = { "gpu_ring_bad", "records of a GPU program that cannot be: not read",
				"", 0 },
	[LOSS_GPU_STALLS] = { "gpu_stalls", "samples of GPU stalls there was no room for", "", 1 },
	[LOSS_GPU_CODE] = { "gpu_code",
			    "samples of GPU stalls in code that is neither kept nor in a file", "",
			    0 },
	[LOSS_GPU_CODE_UNREAD] = { "gpu_code_unread",
				   "pieces of GPU code in files that could not be read", "", 0 },
	[LOSS_READINGS_FULL] = { "readings_full", "readings of GPUs beyond what a recording keeps",
				 "record for a shorter time", 0 },
	[LOSS_LEFT_OUT] = { "left_out", "samples left out by --only, --exclude or relabel rules",
			    "", 0 },
	[LOSS_CODE_UNREAD] = { "code_unread",
			       "frames of code made at run time whose perf map or jitdump was "
			       "given up, or is that of another program",
			       "", 0 },
	[LOSS_INPUT_CUT] = { "input_cut", "slices of the input cut where they overlap another one",
			     "", 0, .is_input = 1 },
	[LOSS_INPUT_ROUNDED] = { "input_rounded",
				 "stacks of the input whose value was rounded to a whole number",
				 "", 0, .is_input = 1 },
	[LOSS_INPUT_SCALED] = { "input_scaled",
				"stacks of the input with a fraction: values are in millionths", "",
				0, .is_input = 1 },
	[LOSS_INPUT_PRUNED] = { "input_pruned",
				"samples without the frames that the file says to leave out "
				"(drop_frames)",
				"--all-frames shows them", 0, .is_input = 1 },
	[LOSS_INPUT_SUMMARY] = { "input_summary",
				 "events of the input left out, as they sum up others", "", 0,
				 .is_input = 1 },
	[LOSS_BUILD_ID_SHARED] = { "build_id_shared",
				   "files with the build id of another file: known by their path "
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
