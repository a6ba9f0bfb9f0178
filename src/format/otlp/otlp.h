/* format/otlp/otlp.h: OpenTelemetry profiles: the message ProfilesData, whose encoding is identical
 * to ExportProfilesServiceRequest (opentelemetry/proto/profiles/v1development/profiles.proto of
 * opentelemetry-proto 1.10 and 1.11).
 *
 *     1 ResourceProfiles*   1 Resource
 *                           2 ScopeProfiles*  1 scope
 *                                             2 Profile*: one type each  2 Sample*
 *     2 ProfilesDictionary  tables that all of them refer to by index; entry 0 of each is empty
 *
 * How the model and the message correspond:
 *
 * - A Profile is one type and one period of one resource. A Sample is one stack with one set of
 *   attributes. It has one value for each time, no values if all are 1, or one value and no time. A
 *   type has the name of its period's type, else its own. Two Profiles in a row, samples and
 *   their CPU time, are one type if each time is the samples times the period. Else the first is
 *   named `samples`.
 * - Attributes are labels. Those in the table of otlp_attr.c have other names here (thread.name is
 *   `comm`) or are columns (process.pid, thread.id, cpu.logical_number). Labels that say where
 *   something ran belong to the resource.
 * - A location with an address in a file is {mapping, address - memory_start + file_offset}. If no
 *   other source gave a range, file offsets are written as addresses with memory_start 0. In the
 *   kernel itself an address stays an address. A location without a file, or in an interpreter, is
 *   known by the name of its one line. profile.frame.type gives the kind.
 * - Data without a field in the message is stored in attributes "cresset.…"; see otlp_attr.h.
 *
 * Older layouts have the same names and other numbers. Those of 1.8 and 1.9 are recognized by the
 * wire types of Sample's fields and read; earlier ones are rejected. */
#ifndef CRESSET_FORMAT_OTLP_OTLP_H
#define CRESSET_FORMAT_OTLP_OTLP_H

#include "format/common/format.h"

struct buf;
struct err;
struct input;
struct out;
struct profile;
struct sink;

extern const struct format format_otlp;

/* Exceeding a limit is -EBADMSG: a message may be a bomb. */
enum {
	/* limit: a message, uncompressed */
	OTLP_MAX_BYTES = 1 << 30,
	/* limit: entries of a table of it */
	OTLP_MAX_ENTRIES = 1 << 22,
	/* limit: values of it */
	OTLP_MAX_SAMPLES = 1 << 25,
	OTLP_MAX_PROFILES = 1 << 20, /* of one message */
	OTLP_MAX_LABELS = 256,       /* limit: labels of a sample; more are skipped */
};

enum otlp_layout {
	OTLP_NO_LAYOUT, /* no sample shows it */
	OTLP_1_8,       /* and 1.9: Sample { 1 stack, 2 values, 3 attributes, 4 link, 5 times } */
	OTLP_1_10,      /* Sample { 1 stack, 2 attributes, 3 link, 4 values, 5 times } */
};

/* Counts of a message's contents, for the response to its sender. */
struct otlp_summary {
	enum otlp_layout layout;
	uint64_t profiles, rejected_profiles; /* all; the ones that gave nothing */
	uint64_t samples, rejected_samples;
	uint64_t unnamed_frames; /* known by address only, without lines */
	uint64_t frames;
};

bool otlp_detect(const char *head, size_t len);

/* Reads one uncompressed message. An empty message is valid. Returns -EBADMSG with a message if it
 * is damaged or nothing of it is usable. Fills *summary (may be NULL) in any case. */
int otlp_decode(const void *data, size_t len, const char *name, struct sink *sink,
		struct otlp_summary *summary, struct err *err);
int otlp_read(struct input *in, struct sink *sink, struct err *err);

/* Stacks of a message are often known: a sender that continues its tables (whole_tables, below)
 * repeats the earlier ones and appends new ones. Therefore a decoder may remember tables and what
 * their stacks became. The number of entries and the hash of their bytes show whether a table is
 * the same. */
struct otlp_seen_tables {
	struct otlp_seen_table {
		uint64_t bytes, hash[2];
		uint32_t n;
	} of[8]; /* by enum otlp_table */
};
struct otlp_known_stacks {
	/* In: tables of an earlier message, and which of their stacks are known. n 0: none. */
	struct otlp_seen_tables before;
	const uint32_t *id; /* by index in the message; UINT32_MAX: unknown */
	uint32_t n;
	/* Out: whether this message continues these tables; its own tables; and the stack index of
	 * each sample passed to the sink. Samples of known stacks are passed with stack 0, and
	 * nothing that those stacks contain is passed. */
	bool follows;
	struct otlp_seen_tables now;
	uint32_t *index, stacks; /* index: to be freed by the caller; stacks: their number */
	size_t samples, room;
};
int otlp_decode_known(const void *data, size_t len, const char *name, struct sink *sink,
		      struct otlp_known_stacks *known, struct otlp_summary *summary,
		      struct err *err);

struct otlp_attribute {
	const char *key, *text;
};
struct otlp_encode_opts {
	const char *type; /* as opts->type of a writer; NULL: all types */
	/* The dictionary has all stacks and labels of the profile, not only those of its samples,
	 * numbered by their ids. A sender that retains one profile and removes its samples thus
	 * writes the same dictionary again, with new entries appended, which compresses well with
	 * otlp_pack. */
	bool whole_tables;
	/* Each sample has the id of its stack, for readers of files. Between agents and servers it
	 * would only cost bytes. */
	bool stack_ids;
	/* Properties of the sender other than labels: attributes of every resource. */
	const struct otlp_attribute *resource;
	size_t n_resource;
};

/* Appends the uncompressed message to out. */
int otlp_encode(struct profile *p, const struct otlp_encode_opts *opts, struct buf *out,
		struct err *err);
int otlp_write(struct profile *p, const struct format_write_opts *opts, struct out *out,
	       struct err *err);

/* The prefix of mappings of the kernel itself. */
#define OTLP_KERNEL_PREFIX "[kernel"

enum { DATA_RESOURCE_PROFILES = 1, DATA_DICTIONARY = 2 };
enum otlp_table {
	TABLE_MAPPING = 1,
	TABLE_LOCATION = 2,
	TABLE_FUNCTION = 3,
	TABLE_LINK = 4,
	TABLE_STRING = 5,
	TABLE_ATTRIBUTE = 6,
	TABLE_STACK = 7,
	OTLP_TABLES = 8,
};
enum { RESOURCE_PROFILES_RESOURCE = 1, RESOURCE_PROFILES_SCOPES = 2 };
enum { RESOURCE_ATTRIBUTES = 1 };
enum { SCOPE_PROFILES_SCOPE = 1, SCOPE_PROFILES_PROFILES = 2 };
enum { SCOPE_NAME = 1, SCOPE_VERSION = 2, SCOPE_ATTRIBUTES = 3 };
enum {
	OTLP_PROFILE_SAMPLE_TYPE = 1,
	OTLP_PROFILE_SAMPLES = 2,
	OTLP_PROFILE_TIME = 3,
	OTLP_PROFILE_DURATION = 4,
	OTLP_PROFILE_PERIOD_TYPE = 5,
	OTLP_PROFILE_PERIOD = 6,
	OTLP_PROFILE_ATTRIBUTES = 11,
};
enum { OTLP_VALUE_TYPE_TYPE = 1, OTLP_VALUE_TYPE_UNIT = 2 };
enum {
	OTLP_SAMPLE_STACK = 1,
	OTLP_SAMPLE_ATTRIBUTES = 2,
	OTLP_SAMPLE_LINK = 3,
	OTLP_SAMPLE_VALUES = 4,
	OTLP_SAMPLE_TIMES = 5,
};
enum { STACK_LOCATIONS = 1 };
enum {
	OTLP_MAPPING_START = 1,
	OTLP_MAPPING_LIMIT,
	OTLP_MAPPING_OFFSET,
	OTLP_MAPPING_NAME,
	OTLP_MAPPING_ATTRIBUTES
};
enum {
	OTLP_LOCATION_MAPPING = 1,
	OTLP_LOCATION_ADDRESS,
	OTLP_LOCATION_LINES,
	OTLP_LOCATION_ATTRIBUTES
};
enum { OTLP_LINE_FUNCTION = 1, OTLP_LINE_LINE, OTLP_LINE_COLUMN };
enum {
	OTLP_FUNCTION_NAME = 1,
	OTLP_FUNCTION_SYSTEM_NAME,
	OTLP_FUNCTION_FILE,
	OTLP_FUNCTION_START_LINE
};
enum { OTLP_LINK_TRACE = 1, OTLP_LINK_SPAN = 2 };
enum { KEY_VALUE_KEY = 1, KEY_VALUE_VALUE = 2, KEY_VALUE_KEY_INDEX = 3 };
enum { ATTRIBUTE_KEY_INDEX = 1, ATTRIBUTE_VALUE = 2, ATTRIBUTE_UNIT_INDEX = 3 };
enum {
	ANY_STRING = 1,
	ANY_BOOL = 2,
	ANY_INT = 3,
	ANY_DOUBLE = 4,
	ANY_ARRAY = 5,
	ANY_MAP = 6,
	ANY_BYTES = 7,
	ANY_STRING_INDEX = 8,
};

#endif
