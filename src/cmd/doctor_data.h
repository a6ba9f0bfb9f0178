/* cmd/doctor_data.h: cresset doctor --data. */
#ifndef CRESSET_CMD_DOCTOR_DATA_H
#define CRESSET_CMD_DOCTOR_DATA_H

#include "cmd/cmd.h"

/* JSON:
 *
 *     dir, sound, bytes, rows, blocks, bad_blocks, series, days, batches, bad_batches, from, to, kept_from (days; null: not known),
 *     files [{name, sound, bytes, problem, day, sealed, detail, blocks, rows, bad_blocks}]
 *
 * The last six are those of partitions; null elsewhere. Returns the exit status: CMD_BAD_INPUT where something is damaged. */
int doctor_data(struct cmd_line *line, const char *dir);

#endif
