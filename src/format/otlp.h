/* format/otlp.h: OpenTelemetry profiles: the message ProfilesData, which is ExportProfilesServiceRequest byte by byte
 * (opentelemetry/proto/profiles/v1development/profiles.proto of opentelemetry-proto 1.10 and 1.11).
 *
 *     1 ResourceProfiles*   1 Resource   2 ScopeProfiles*   1 scope   2 Profile*: one type each   2 Sample*
 *     2 ProfilesDictionary  tables that all of them point into by index; entry 0 of each says nothing
 *
 * How the model and the message correspond:
 *
 * - A Profile is one type and one period of one resource; a Sample is one stack with one set of attributes, and has one value for each
 *   time, no value where all are 1, or one value and no time. A type is named like its period's, else like itself.
 * - Attributes are labels. Those in the table of otlp_attr.c are called differently here (thread.name is `comm`) or are columns
 *   (process.pid, thread.id, cpu.logical_number). Labels that say where something ran are the resource's.
 * - A location with an address in a file is {mapping, address - memory_start + file_offset}; we write file offsets as they are, with
 *   memory_start 0, where no other source gave a range. Of the kernel itself an address is an address. What has no file, or runs in an
 *   interpreter, is known by the name of its one line. profile.frame.type says the kind.
 * - What the message has no field for is in attributes "cresset.…"; see otlp_attr.h.
 *
 * Older layouts have the same names and other numbers. Those of 1.8 and 1.9 are told by the wire types of Sample's fields and read, those
 * before are refused. */
#ifndef CRESSET_FORMAT_OTLP_H
#define CRESSET_FORMAT_OTLP_H

#include "format/format.h"

extern const struct format format_otlp;

/* More than these is -EBADMSG: a message may be a bomb. */
enum {
	OTLP_MAX_BYTES = 1 << 30,    /* unpacked */
	OTLP_MAX_ENTRIES = 1 << 22,  /* of one table */
	OTLP_MAX_SAMPLES = 1 << 25,  /* values */
	OTLP_MAX_PROFILES = 1 << 20, /* of one message */
	OTLP_MAX_LABELS = 256,       /* of a sample; more are dropped */
};

enum otlp_layout {
	OTLP_NO_LAYOUT, /* no sample tells */
	OTLP_1_8,       /* and 1.9: Sample { 1 stack, 2 values, 3 attributes, 4 link, 5 times } */
	OTLP_1_10,      /* Sample { 1 stack, 2 attributes, 3 link, 4 values, 5 times } */
};

/* What a message had: for the answer to its sender. */
struct otlp_summary {
	enum otlp_layout layout;
	uint64_t profiles, rejected_profiles; /* all of them, and those that gave nothing */
	uint64_t samples, rejected_samples;
	uint64_t unnamed_frames; /* by address only, without any line */
	uint64_t frames;
};

bool otlp_detect(const char *head, size_t len);

/* Reads one message, which is not packed. An empty message is fine. -EBADMSG with words when it is damaged or nothing of it can be used;
 * *summary (may be NULL) is filled in any case. */
int otlp_decode(const void *data, size_t len, const char *name, struct sink *sink,
		struct otlp_summary *summary, struct err *err);
int otlp_read(struct input *in, struct sink *sink, struct err *err);

/* What a message's stacks are is often known: a sender that goes on with its tables (whole_tables, below) sends those of before again, and
 * what is new behind them. So who decodes may remember tables, and what their stacks became; a few bytes of each table say whether they
 * are the same: how many entries, and the hash of their bytes. */
struct otlp_seen_tables {
	struct otlp_seen_table {
		uint64_t bytes, hash[2];
		uint32_t n;
	} of[8]; /* by enum otlp_table */
};
struct otlp_known_stacks {
	/* In: tables of an earlier message, and which of their stacks are known. n 0: none are. */
	struct otlp_seen_tables before;
	const uint32_t *id; /* by index in the message; UINT32_MAX: not known */
	uint32_t n;
	/* Out: whether this message goes on with these; its own; and the index that each sample given to the sink had. Samples of known stacks
	 * are given with stack 0, and nothing of what those stacks have is. */
	bool follows;
	struct otlp_seen_tables now;
	uint32_t *index, stacks; /* index: to be freed; stacks: how many there are */
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
	/* The dictionary has all stacks and labels that the profile has, not only those of its samples, numbered by their ids. A sender
	 * that goes on with one profile, its samples taken out, so writes the same dictionary again and again, with what is new behind
	 * it: what otlp_pack is made for. */
	bool whole_tables;
	/* Each sample has the id of its stack: for who reads the file. Between agents and servers it would only be bytes. */
	bool stack_ids;
	/* What is known of the sender beside labels: attributes of every resource. */
	const struct otlp_attribute *resource;
	size_t n_resource;
};

/* Appends the message to out, not packed. */
int otlp_encode(struct profile *p, const struct otlp_encode_opts *opts, struct buf *out,
		struct err *err);
int otlp_write(struct profile *p, const struct format_write_opts *opts, struct out *out,
	       struct err *err);

/* What mappings of the kernel itself begin with. */
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
