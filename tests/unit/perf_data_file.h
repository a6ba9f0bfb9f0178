/* tests/unit/perf_data_file.h: perf.data files made byte by byte, in either byte order, as a file or for a pipe.
 *
 *     struct pdf f = { .big = false };           records go to f.data
 *     pdf_comm(&f, 0, 10, 10, "app", 100) …
 *     struct buf file = pdf_file(&f, events, n)     or pdf_pipe */
#ifndef CRESSET_TESTS_PERF_DATA_FILE_H
#define CRESSET_TESTS_PERF_DATA_FILE_H

#include "base/buf.h"

#include <linux/perf_event.h>
#include <string.h>

struct pdf {
	struct buf data;
	bool big;
	size_t record; /* start of the current one */
	uint64_t sample_type;
	uint64_t id; /* of the event of the next records */
};
struct pdf_event {
	uint32_t type;
	uint64_t config, period, id, read_format, branch_type, user_regs;
	bool is_freq;
	const char *name;
};

/* The order of the fields in a sample and after other records. */
#define PDF_SAMPLE_TYPE \
	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_CPU | \
	 PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN)

static inline void pdf_bytes(struct buf *b, uint64_t v, int n, bool big)
{
	for (int i = 0; i < n; i++)
		buf_addc(b, v >> 8 * (big ? n - 1 - i : i));
}
static inline void pdf16(struct pdf *f, uint16_t v)
{
	pdf_bytes(&f->data, v, 2, f->big);
}
static inline void pdf32(struct pdf *f, uint32_t v)
{
	pdf_bytes(&f->data, v, 4, f->big);
}
static inline void pdf64(struct pdf *f, uint64_t v)
{
	pdf_bytes(&f->data, v, 8, f->big);
}
/* With its NUL, padded to 8. */
static inline void pdf_text(struct pdf *f, const char *s)
{
	size_t len = strlen(s) + 1;
	buf_add(&f->data, s, len);
	for (; len % 8; len++)
		buf_addc(&f->data, 0);
}
static inline void pdf_begin(struct pdf *f, uint32_t type, uint16_t misc)
{
	f->record = f->data.len;
	pdf32(f, type);
	pdf16(f, misc);
	pdf16(f, 0);
}
static inline void pdf_end(struct pdf *f)
{
	size_t size = f->data.len - f->record;
	f->data.data[f->record + 6] = f->big ? size >> 8 : size;
	f->data.data[f->record + 7] = f->big ? size : size >> 8;
}
/* The fields after every record that is no sample. */
static inline void pdf_trailer(struct pdf *f, uint32_t pid, uint32_t tid, uint64_t time)
{
	if (f->sample_type & PERF_SAMPLE_TID) {
		pdf32(f, pid);
		pdf32(f, tid);
	}
	if (f->sample_type & PERF_SAMPLE_TIME)
		pdf64(f, time);
	if (f->sample_type & PERF_SAMPLE_ID)
		pdf64(f, f->id);
	if (f->sample_type & PERF_SAMPLE_CPU) {
		pdf32(f, 0);
		pdf32(f, 0);
	}
	pdf_end(f);
}
static inline void pdf_comm(struct pdf *f, uint16_t misc, uint32_t pid, uint32_t tid,
			    const char *comm, uint64_t time)
{
	pdf_begin(f, PERF_RECORD_COMM, misc);
	pdf32(f, pid);
	pdf32(f, tid);
	pdf_text(f, comm);
	pdf_trailer(f, pid, tid, time);
}
static inline void pdf_mmap(struct pdf *f, uint32_t pid, uint64_t start, uint64_t len,
			    uint64_t pgoff, const char *name, uint64_t time)
{
	pdf_begin(f, PERF_RECORD_MMAP, PERF_RECORD_MISC_USER);
	pdf32(f, pid);
	pdf32(f, pid);
	pdf64(f, start);
	pdf64(f, len);
	pdf64(f, pgoff);
	pdf_text(f, name);
	pdf_trailer(f, pid, pid, time);
}
/* build_id: 20 bytes, or NULL for inode `ino`. */
static inline void pdf_mmap2(struct pdf *f, uint32_t pid, uint64_t start, uint64_t len,
			     uint64_t pgoff, const char *name, const char *build_id, uint64_t ino,
			     uint64_t time)
{
	pdf_begin(f, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER | (build_id ? 1 << 14 : 0));
	pdf32(f, pid);
	pdf32(f, pid);
	pdf64(f, start);
	pdf64(f, len);
	pdf64(f, pgoff);
	if (build_id) {
		buf_add(&f->data, "\x14\0\0\0", 4);
		buf_add(&f->data, build_id, 20);
	} else {
		pdf64(f, 0x100000008);
		pdf64(f, ino);
		pdf64(f, 1);
	}
	pdf64(f, 5); /* protection, flags */
	pdf_text(f, name);
	pdf_trailer(f, pid, pid, time);
}
static inline void pdf_kernel_mmap(struct pdf *f, uint64_t start, uint64_t len, uint64_t text,
				   const char *name)
{
	pdf_begin(f, PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL);
	pdf32(f, UINT32_MAX);
	pdf32(f, 0);
	pdf64(f, start);
	pdf64(f, len);
	pdf64(f, text);
	pdf_text(f, name);
	pdf_trailer(f, 0, 0, 0);
}
/* PERF_RECORD_FORK or EXIT. */
static inline void pdf_task(struct pdf *f, uint32_t type, uint32_t pid, uint32_t tid,
			    uint32_t parent_pid, uint32_t parent_tid, uint64_t time)
{
	pdf_begin(f, type, 0);
	pdf32(f, pid);
	pdf32(f, parent_pid);
	pdf32(f, tid);
	pdf32(f, parent_tid);
	pdf64(f, time);
	pdf_trailer(f, pid, tid, time);
}
static inline void pdf_ksymbol(struct pdf *f, uint64_t start, uint32_t len, uint16_t flags,
			       const char *name, uint64_t time)
{
	pdf_begin(f, PERF_RECORD_KSYMBOL, 0);
	pdf64(f, start);
	pdf32(f, len);
	pdf16(f, PERF_RECORD_KSYMBOL_TYPE_BPF);
	pdf16(f, flags);
	pdf_text(f, name);
	pdf_trailer(f, 0, 0, time);
}
/* The fields of PDF_SAMPLE_TYPE that the sample type has. The caller adds others and ends the record. */
static inline void pdf_sample_open(struct pdf *f, uint16_t misc, uint64_t ip, uint32_t pid,
				   uint32_t tid, uint64_t time, uint64_t period)
{
	pdf_begin(f, PERF_RECORD_SAMPLE, misc);
	pdf64(f, ip);
	pdf32(f, pid);
	pdf32(f, tid);
	if (f->sample_type & PERF_SAMPLE_TIME)
		pdf64(f, time);
	pdf64(f, f->id);
	pdf32(f, 3); /* cpu */
	pdf32(f, 0);
	pdf64(f, period);
}
/* chain: leaf first, ends with 0. */
static inline void pdf_chain(struct pdf *f, const uint64_t *chain)
{
	size_t n = 0;
	while (chain && chain[n])
		n++;
	pdf64(f, n);
	for (size_t i = 0; i < n; i++)
		pdf64(f, chain[i]);
}
/* The fields of --call-graph dwarf: PERF_SAMPLE_REGS_USER, the registers one by one; PERF_SAMPLE_STACK_USER, with used_bytes of the words in use. */
static inline void pdf_user_state(struct pdf *f, uint64_t abi, const uint64_t *regs, size_t n_regs,
				  const uint64_t *words, size_t n_words, uint64_t used_bytes)
{
	pdf64(f, abi);
	for (size_t i = 0; i < n_regs && abi; i++)
		pdf64(f, regs[i]);
	pdf64(f, n_words * 8);
	for (size_t i = 0; i < n_words; i++)
		pdf64(f, words[i]);
	if (n_words)
		pdf64(f, used_bytes);
}
static inline void pdf_sample(struct pdf *f, uint16_t misc, uint32_t pid, uint32_t tid,
			      uint64_t time, uint64_t period, const uint64_t *chain)
{
	pdf_sample_open(f, misc, chain[0] < (uint64_t)-4095 ? chain[0] : chain[1], pid, tid, time,
			period);
	pdf_chain(f, chain);
	pdf_end(f);
}
static inline void pdf_round(struct pdf *f)
{
	pdf_begin(f, 68, 0);
	pdf_end(f);
}

/* --- around the records ----------------------------------------------------------------------- */

enum { PDF_ATTR_BYTES = 128, PDF_HEADER_BYTES = 104 };

static inline void pdf_attr(struct pdf *out, const struct pdf *f, const struct pdf_event *e)
{
	const uint64_t flags = (e->is_freq ? 1ull << 10 : 0) | 1ull << 18; /* freq, sample_id_all */
	uint64_t mirrored = 0;
	size_t at = out->data.len;
	for (int i = 0; i < 64; i++)
		mirrored |= (flags >> i & 1) << (63 - i);
	pdf32(out, e->type);
	pdf32(out, PDF_ATTR_BYTES);
	pdf64(out, e->config);
	pdf64(out, e->period);
	pdf64(out, f->sample_type);
	pdf64(out, e->read_format);
	pdf64(out, out->big ? mirrored : flags);
	pdf64(out, 0);
	pdf64(out, 0);
	pdf64(out, 0);
	pdf64(out, e->branch_type);
	pdf64(out, e->user_regs);
	while (out->data.len < at + PDF_ATTR_BYTES)
		buf_addc(&out->data, 0);
}
static inline void pdf_counted(struct pdf *out, const char *s)
{
	pdf32(out, (strlen(s) + 8) / 8 * 8);
	pdf_text(out, s);
}
static inline void pdf_event_desc(struct pdf *out, const struct pdf *f, const struct pdf_event *e,
				  size_t n)
{
	pdf32(out, n);
	pdf32(out, PDF_ATTR_BYTES);
	for (size_t i = 0; i < n; i++) {
		pdf_attr(out, f, &e[i]);
		pdf32(out, 1);
		pdf_counted(out, e[i].name);
		pdf64(out, e[i].id);
	}
}

/* The features of these files: host, release, machine, CPUs, command, events. */
enum { PDF_FEATURES = 6 };
static const uint8_t pdf_features[PDF_FEATURES] = { 3, 4, 6, 7, 11, 12 };

static inline void pdf_feature(struct pdf *out, const struct pdf *f, int feature,
			       const struct pdf_event *e, size_t n)
{
	switch (feature) {
	case 3:
		pdf_counted(out, "db7");
		break;
	case 4:
		pdf_counted(out, "6.1.0-13");
		break;
	case 6:
		pdf_counted(out, "x86_64");
		break;
	case 7:
		pdf32(out, 8);
		pdf32(out, 4);
		break;
	case 11:
		pdf32(out, 2);
		pdf_counted(out, "perf");
		pdf_counted(out, "record");
		break;
	case 12:
		pdf_event_desc(out, f, e, n);
		break;
	}
}

/* A whole file. */
static inline struct buf pdf_file(const struct pdf *f, const struct pdf_event *e, size_t n)
{
	struct pdf out = { .big = f->big };
	const uint64_t ids_at = PDF_HEADER_BYTES, attrs_at = ids_at + 8 * n;
	const uint64_t data_at = attrs_at + n * (PDF_ATTR_BYTES + 16);
	buf_add(&out.data, f->big ? "2ELIFREP" : "PERFILE2", 8);
	pdf64(&out, PDF_HEADER_BYTES);
	pdf64(&out, PDF_ATTR_BYTES + 16);
	pdf64(&out, attrs_at);
	pdf64(&out, n * (PDF_ATTR_BYTES + 16));
	pdf64(&out, data_at);
	pdf64(&out, f->data.len);
	pdf64(&out, 0);
	pdf64(&out, 0);
	uint64_t bits = 0;
	for (int i = 0; i < PDF_FEATURES; i++)
		bits |= 1ull << pdf_features[i];
	pdf64(&out, bits);
	for (int i = 0; i < 3; i++)
		pdf64(&out, 0);
	for (size_t i = 0; i < n; i++)
		pdf64(&out, e[i].id);
	for (size_t i = 0; i < n; i++) {
		pdf_attr(&out, f, &e[i]);
		pdf64(&out, ids_at + 8 * i);
		pdf64(&out, 8);
	}
	buf_add(&out.data, f->data.data, f->data.len);
	struct pdf sections = { .big = f->big };
	uint64_t at = out.data.len + 16 * PDF_FEATURES;
	for (int i = 0; i < PDF_FEATURES; i++) {
		size_t before = sections.data.len;
		pdf_feature(&sections, f, pdf_features[i], e, n);
		pdf64(&out, at + before);
		pdf64(&out, sections.data.len - before);
	}
	buf_add(&out.data, sections.data.data, sections.data.len);
	buf_done(&sections.data);
	return out.data;
}

/* The same through a pipe. */
static inline struct buf pdf_pipe(const struct pdf *f, const struct pdf_event *e, size_t n)
{
	struct pdf out = { .big = f->big };
	buf_add(&out.data, f->big ? "2ELIFREP" : "PERFILE2", 8);
	pdf64(&out, 16);
	for (size_t i = 0; i < n; i++) {
		pdf_begin(&out, 64, 0);
		pdf_attr(&out, f, &e[i]);
		pdf64(&out, e[i].id);
		pdf_end(&out);
	}
	for (int i = 0; i < PDF_FEATURES; i++) {
		pdf_begin(&out, 80, 0);
		pdf64(&out, pdf_features[i]);
		pdf_feature(&out, f, pdf_features[i], e, n);
		pdf_end(&out);
	}
	buf_add(&out.data, f->data.data, f->data.len);
	return out.data;
}

#endif
