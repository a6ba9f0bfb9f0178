/* cmd/doctor_pid.h: cresset doctor PID. */
#ifndef CRESSET_CMD_DOCTOR_PID_H
#define CRESSET_CMD_DOCTOR_PID_H

#include "cmd/cmd.h"
#include "collect/collect.h"

/* "ok", "limited", "missing"; and as a mark in front of a line, two columns wide. */
const char *check_word(enum check_state state);
void term_check(struct buf *b, const struct term *term, enum check_state state);

/* JSON:
 *
 *     pid, comm, bits (64 or 32), files [{path, deleted, state, build_id, names_from, functions, debug_file, go, frames_from, frame_rows,
 *     error, remedy}], jit {bytes, perf_map (null: there is none), remedy}
 *
 * state is "ok", "limited" or "missing"; what is not known or not there is null. Returns the exit status. */
int doctor_pid(struct cmd_line *line, const char *pid);

#endif
