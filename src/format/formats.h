/* format/formats.h: the table of file formats. A format is one file and one row.
 *
 * A reader is found by a file's content, and writes to a sink; the name only counts for formats
 * that many other files look like (detect_maybe). A writer takes a
 * profile and is found by the ending of the output's name or by --format. */
#ifndef CRESSET_FORMAT_FORMATS_H
#define CRESSET_FORMAT_FORMATS_H

struct err;
struct format_here;
struct sink;

extern const struct format *const formats[]; /* NULL-terminated */

const struct format *format_by_name(const char *name); /* NULL if unknown */
const struct format *format_by_ending(
	const char *path); /* the longest ending wins; NULL if none matches */

/* Opens path ("-" is standard input), detects the format (or uses `as` if not NULL) and reads the
 * file. */
int format_read_file(const char *path, const struct format *as, struct sink *sink, struct err *err);

/* Same, for when the recorded machine's files may be available: `here` is passed to formats that
 * can use it. Sets *used, if not NULL, to the format. */
int format_read_file_here(const char *path, const struct format *as, struct sink *sink,
			  const struct format_here *here, const struct format **used,
			  struct err *err);

#endif
