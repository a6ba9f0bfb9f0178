/* bench/store/engine.h: what is filled with the rows of the model and asked questions, and how answers are compared.
 *
 * An engine is one implementation: a naive one in plain arrays, that says what is right, databases, and ours. It is given the rows batch by
 * batch, and each question several times. A question's work is done by ask, whose time is taken; answer then says what came out,
 * in terms that are the same for all. */
#ifndef CRESSET_BENCH_STORE_ENGINE_H
#define CRESSET_BENCH_STORE_ENGINE_H

#include "model.h"

#include "base/hash.h"
#include "base/vec.h"

enum question {
	Q_TREE,       /* one series, one hour: the flame tree, with names */
	Q_DIFF,       /* one series: two hours beside each other, by stack */
	Q_SOME_MERGE, /* all series, the hours that slow engines have, by stack */
	Q_SOME_STEPS, /* the same, steps of 60 s, by program and type */
	Q_MERGE,      /* all series, all hours, by stack */
	Q_ROWS,       /* the same without the help of any sum made beforehand */
	Q_STEPS,      /* all series, all hours, steps of 60 s, by program and type */
	Q_TREE_ALL,   /* Q_MERGE, and the flame tree of that, as far as it is seen: SHOWN_SHARE */
	Q_FILTER,     /* Q_MERGE of the stacks in which a function's name has `word` */
	QUESTIONS
};
extern const char *const question_names[QUESTIONS];

enum { STEP_WINDOWS = 6 };
/* Of the total: what is worth less is less than a pixel of a picture 1000 pixels wide. */
#define SHOWN_SHARE 0.001

/* What is asked for. */
struct asked {
	uint32_t series;
	/* Windows: of Q_TREE, and of the newer side of Q_DIFF, whose older side is the hour before; of Q_SOME_…. */
	uint32_t from, to, some_from, some_to;
	const char *word;
};

/* Key and value pairs, in any order: how many, their sum, and a checksum of the pairs. */
struct answer {
	uint64_t n, check;
	int64_t sum;
};
void answer_add(struct answer *a, uint64_t key, int64_t value);
/* The keys. Stacks are the model's; the older side of Q_DIFF is negative values under another key. */
static inline uint64_t older_side(uint32_t stack)
{
	return (uint64_t)stack | 1ull << 32;
}
static inline uint64_t step_key(uint32_t pool, uint32_t step)
{
	return (uint64_t)step * MODEL_POOLS + pool;
}
/* A node of a tree of names: by the functions from the root, whose key is 0. A function is its name, and the files that it is in and of: programs
 * have functions of one name. */
uint64_t name_key(const char *name, const char *binary, const char *file);
static inline uint64_t node_key(uint64_t parent_key, uint64_t name_key)
{
	return hash_mix(parent_key, name_key);
}

/* A tree by hashing the way from the root to every frame of every stack: what there is to compare ours with. */
struct name_tree {
	struct map nodes;
	VEC(int64_t) totals;
	VEC(uint64_t) keys;
};
/* frames: root first. name_keys: of functions, name_key of theirs. */
void name_tree_add(struct name_tree *t, const uint64_t *name_keys, const uint32_t *frames,
		   uint32_t n, int64_t value);
/* Without nodes that are worth less than min_total. */
void name_tree_answer(const struct name_tree *t, int64_t min_total, struct answer *out);
void name_tree_done(struct name_tree *t);

struct engine_opts {
	const struct model *m;
	const uint64_t *name_keys; /* by function: names are in every client's memory */
	struct asked asked;
	bool has_all;     /* another process has added all rows */
	const char *dir;  /* empty but for that */
	const char *last; /* where libduckdb.so is; what memory our store may take */
};

enum { ENGINE_WAYS = 2 };
struct engine_ops {
	const char *name;
	const char *other_way; /* what is put before the names of questions to its second copy */
	bool only_some;        /* it is given the hours of Q_SOME_… only */
	/* Added at once; in the hour of Q_TREE it is 100 s for every engine. */
	uint32_t batch_windows;
	void *(*open)(const struct engine_opts *opts);
	void (*prepare)(void *engine, const struct model_row *rows, size_t n); /* not in the time */
	/* Durable when it returns. */
	void (*add)(void *engine, const struct model_row *rows, size_t n);
	void (*finish)(void *engine); /* what is done once all is there; its time is apart */
	void (*forget)(void *engine); /* the last answer, when there is one */
	/* false: it is not asked that. way: 1: of the second copy that it has. */
	bool (*ask)(void *engine, enum question q, int way);
	void (*answer)(void *engine, enum question q, struct answer *out);
	void (*report)(void *engine); /* prints "key value" lines: bytes */
	void (*close)(void *engine);
};
extern const struct engine_ops naive_engine, duckdb_engine, sqlite_engine, our_engine;

_Noreturn void bench_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
