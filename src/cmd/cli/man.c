/* Manual pages from the tables that the help texts are made from, as man(7) macros for man-db's
 * groff and mandoc. */
#include "base/buf.h"
#include "cmd/cli/cmd.h"
#include "format/common/format.h"
#include "format/formats.h"

#include <ctype.h>

static const struct {
	enum cmd_status status;
	const char *text;
} statuses[] = {
	{ CMD_OK, "fine" },
	{ CMD_FAILED, "failed while it ran" },
	{ CMD_USAGE, "wrong option or argument" },
	{ CMD_PERMISSION, "a permission is missing" },
	{ CMD_UNSUPPORTED, "the kernel, or this version, lacks a feature" },
	{ CMD_NO_TARGET, "what to record was not found, or was gone before the start" },
	{ CMD_BAD_INPUT, "an input file cannot be read" },
	{ CMD_NO_OUTPUT, "an output cannot be written" },
	{ CMD_NO_SAMPLE, "ran, but recorded no sample" },
	{ CMD_LOST, "lost more samples than --max-lost allows" },
};

/* --- roff ------------------------------------------------------------------------------------ */

/* Literal text: hyphens can be copied, and no line becomes a request. */
static void roff_add(struct buf *b, const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		bool starts = b->len == 0 || b->data[b->len - 1] == '\n';
		if (starts && (s[i] == '.' || s[i] == '\''))
			buf_adds(b, "\\&");
		if (s[i] == '\\')
			buf_adds(b, "\\e");
		else if (s[i] == '-')
			buf_adds(b, "\\-");
		else if (s[i] == '\'')
			buf_adds(b, "\\(aq");
		else
			buf_addc(b, s[i]);
	}
}

static void roff(struct buf *b, const char *s)
{
	roff_add(b, s, strlen(s));
}

/* Fills words into source lines of up to LINE columns, and ends the last one. */
static void roff_lines(struct buf *b, const char *s, size_t n)
{
	enum { LINE = 72 };
	size_t start = b->len;
	const char *end = s + n;
	while (s < end) {
		const char *blank = memchr(s, ' ', end - s);
		size_t len = (blank ? blank : end) - s;
		if (b->len > start && b->len - start + len > LINE) {
			buf_addc(b, '\n');
			start = b->len;
		} else if (b->len > start) {
			buf_addc(b, ' ');
		}
		roff_add(b, s, len);
		s += len + (blank != NULL);
	}
	buf_addc(b, '\n');
}

static void paragraphs(struct buf *b, const char *text)
{
	const char *between = "";
	while (text && *text) {
		size_t len = strcspn(text, "\n");
		buf_adds(b, between);
		roff_lines(b, text, len);
		between = ".PP\n";
		text += len + (text[len] == '\n');
	}
}

static void title(struct buf *b, const char *name, int section, const char *summary)
{
	buf_adds(b, ".TH CRESSET");
	if (*name)
		buf_adds(b, "\\-");
	for (const char *c = name; *c; c++)
		roff_add(b, (char[]){ toupper((unsigned char)*c) }, 1);
	buf_addf(b, " %d %s \"cresset %s\" \"%s\"\n", section, CRESSET_DATE, CRESSET_VERSION,
		 section == 1 ? "User Commands" : "File Formats");
	buf_addf(b, ".SH NAME\ncresset%s", *name ? "\\-" : "");
	roff(b, name);
	buf_adds(b, " \\- ");
	roff(b, summary);
	buf_addc(b, '\n');
}

/* --- options --------------------------------------------------------------------------------- */

/* \fB\-F\fR, \fB\-\-freq\fR \fIHZ\fR */
static void option_head(struct buf *b, const struct cmd_opt *o)
{
	buf_adds(b, ".TP\n");
	for (const char *c = o->shorts; c && *c; c++)
		buf_addf(b, "\\fB\\-%c\\fR, ", *c);
	buf_adds(b, "\\fB\\-\\-");
	roff(b, o->name);
	buf_adds(b, "\\fR");
	if (o->arg) {
		buf_adds(b, o->bare ? "[=\\fI" : " \\fI");
		roff(b, o->arg);
		buf_adds(b, o->bare ? "\\fR]" : "\\fR");
	}
	buf_addc(b, '\n');
}

static void option(struct buf *b, const struct cmd_opt *o)
{
	struct buf text = { 0 };
	option_head(b, o);
	buf_adds(&text, o->help);
	if (o->def)
		buf_addf(&text, " (default %s)", o->def);
	for (size_t i = 0; o->words && o->words[i]; i++)
		buf_addf(&text, "%s%s", i ? ", " : ". One of: ", o->words[i]);
	buf_addc(&text, '.');
	paragraphs(b, buf_cstr(&text));
	buf_done(&text);
}

static void options(struct buf *b, const struct cmd_opt *table, const char *except)
{
	const char *group = "";
	for (const struct cmd_opt *o = NULL; (o = opt_next_by_group(table, o));) {
		if (strcmp(o->name, except) == 0)
			continue;
		if (strcmp(o->group, group) != 0) {
			buf_adds(b, ".SS ");
			roff(b, o->group);
			buf_addc(b, '\n');
		}
		group = o->group;
		option(b, o);
	}
}

/* --- parts of several pages ------------------------------------------------------------------ */

static void examples(struct buf *b, const char *const *list, size_t n)
{
	buf_adds(b, ".SH EXAMPLES\n");
	for (size_t i = 0; i < n && list[i]; i++) {
		size_t len = strcspn(list[i], "\t");
		buf_adds(b, ".TP\n");
		roff_add(b, list[i], len);
		buf_addc(b, '\n');
		paragraphs(b, list[i] + len + 1);
	}
}

static void exit_status(struct buf *b)
{
	buf_adds(b, ".SH EXIT STATUS\n");
	for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
		buf_addf(b, ".TP\n%d\n", statuses[i].status);
		paragraphs(b, statuses[i].text);
	}
}

static const struct {
	const char *names, *text;
} variables[] = {
	{ "NO_COLOR", "No colour, unless --color sets it." },
	{ "TERM", "No colour if it is dumb." },
	{ "LC_ALL, LC_CTYPE, LANG", "ASCII output unless the locale is UTF-8." },
	{ "CRESSET_AGENT",
	  "Only GPU programs started with the same CRESSET_AGENT are recorded; without it, those "
	  "started without it. This way a private recording does not disturb the machine's agent: "
	  "CRESSET_AGENT=mine cresset record --gpu -- ./train." },
	{ "CRESSET_CACHE", "Cache directory for symbols, debug files and unwind tables; "
			   "empty: no cache. Default: /var/cache/cresset for root, "
			   "XDG_CACHE_HOME/cresset or ~/.cache/cresset for other users." },
	{ "CRESSET_GPU_SCRIPT", "A file that simulates GPUs, for tests." },
	{ "DEBUGINFOD_URLS", "Servers of debug files, separated by blanks; default: none. They "
			     "receive build ids only. sudo removes it from the environment unless "
			     "it is passed on: sudo DEBUGINFOD_URLS=... "
			     "cresset record." },
	{ "DEBUGINFOD_TIMEOUT, DEBUGINFOD_MAXTIME, DEBUGINFOD_MAXSIZE",
	  "Limits of downloads: seconds without enough progress (20), seconds for all downloads of "
	  "a run (60), bytes of a file (2 GiB)." },
};

static void environment(struct buf *b)
{
	buf_adds(b, ".SH ENVIRONMENT\n");
	for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
		buf_addf(b, ".TP\n%s\n", variables[i].names);
		paragraphs(b, variables[i].text);
	}
}

static void see_also(struct buf *b, const struct cmd *const *all, const struct cmd *except)
{
	buf_adds(b, ".SH SEE ALSO\n");
	if (except)
		buf_adds(b, ".BR cresset (1),\n");
	for (; *all; all++)
		if (*all != except)
			buf_addf(b, ".BR cresset\\-%s (1),\n", (*all)->name);
	buf_adds(b, ".BR cresset\\-formats (5)\n");
}

/* --- pages ----------------------------------------------------------------------------------- */

void man_command(struct buf *b, const struct cmd *const *all, const struct cmd *cmd)
{
	title(b, cmd->name, 1, cmd->summary);
	buf_addf(b, ".SH SYNOPSIS\n.B cresset %s\n", cmd->name);
	roff(b, cmd->usage);
	buf_adds(b, "\n.SH DESCRIPTION\n");
	paragraphs(b, cmd->about ? cmd->about : cmd->summary);
	buf_adds(b, ".SH OPTIONS\n");
	options(b, cmd->options, "");
	options(b, global_options, cmd->has_json ? "" : "json");
	examples(b, cmd->examples, sizeof cmd->examples / sizeof *cmd->examples);
	exit_status(b);
	environment(b);
	see_also(b, all, cmd);
}

void man_program(struct buf *b, const struct cmd *const *all)
{
	title(b, "", 1, "where every CPU cycle of a machine goes");
	buf_adds(b, ".SH SYNOPSIS\n.B cresset\nCOMMAND [OPTIONS]\n.SH DESCRIPTION\n");
	paragraphs(b, "Profiles a Linux machine, or some of its processes, that were not prepared "
		      "for it, and "
		      "shows and converts profiles of other programs.");
	buf_adds(b, ".SH COMMANDS\n");
	for (const struct cmd *const *cmd = all; *cmd; cmd++) {
		buf_addf(b, ".TP\n.BR cresset\\-%s (1)\n", (*cmd)->name);
		paragraphs(b, (*cmd)->summary);
	}
	buf_adds(b, ".SH OPTIONS\n");
	options(b, global_options, "");
	examples(b, help_examples, HELP_EXAMPLES);
	exit_status(b);
	environment(b);
	see_also(b, all, NULL);
}

static void format_entry(struct buf *b, const struct format *f)
{
	struct buf text = { 0 };
	buf_adds(b, ".TP\n.B ");
	roff(b, f->name);
	buf_addc(b, '\n');
	buf_addf(&text, "%s. %s", f->summary,
		 f->read && f->write ? "Read and written"
		 : f->read           ? "Read"
				     : "Written");
	for (const char *const *e = f->endings; e && *e; e++)
		buf_addf(&text, "%s%s", e == f->endings ? "; endings: " : ", ", *e);
	buf_addf(&text, ".%s%s%s", f->one_type ? " Holds one type." : "", f->notes ? " " : "",
		 f->notes ? f->notes : "");
	paragraphs(b, buf_cstr(&text));
	buf_done(&text);
}

void man_formats(struct buf *b)
{
	title(b, "formats", 5, "profile formats that cresset reads and writes");
	buf_adds(b, ".SH DESCRIPTION\n");
	paragraphs(b, "Input formats are detected from the content, after gzip, zstd and xz; "
		      "--from overrides that. The output format is chosen by the ending of the "
		      "file name, or by --format (also --to).");
	for (const struct format *const *f = formats; *f; f++)
		format_entry(b, *f);
	buf_adds(b, ".SH SEE ALSO\n.BR cresset\\-convert (1),\n.BR cresset\\-record (1)\n");
}
