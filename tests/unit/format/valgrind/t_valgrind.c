// tier: test
#include "read_text.h"

#include "base/buf.h"
#include "base/err.h"
#include "format/valgrind/valgrind.h"

static const struct format *const massif = &format_massif;

#define MASSIF_HEAD "desc: x\ncmd: ./a\ntime_unit: i\n#---\nsnapshot=0\n#---\ntime=0\n"

/* Massif's totals are mem_heap_B of the snapshot with the tree; dhat's those of its own table. */
START_TEST(known_files_add_up)
{
	static const struct {
		const char *file, *type;
		int64_t total;
	} cases[] = {
		{ "massif.out", "peak_space", 1200064 },
		{ "massif-stacks.out", "peak_space", 1195000 },
		{ "dhat.json", "alloc_space", 1232000 },
		{ "dhat.json", "alloc_objects", 1100 },
		{ "dhat.json", "peak_space", 1200064 },
		{ "dhat.json", "peak_objects", 601 },
		{ "dhat.json", "inuse_space", 1200000 },
		{ "dhat.json", "inuse_objects", 600 },
		{ "dhat.json", "written_space", 1232000 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char path[128];
		snprintf(path, sizeof path, "tests/golden/valgrind/%s", cases[i].file);
		struct profile *p = read_golden(path);
		int64_t total = profile_total(p, profile_pick_type(p, cases[i].type));
		ck_assert_msg(total == cases[i].total, "%s: %s: %lld", path, cases[i].type,
			      (long long)total);
		ck_assert_str_eq(profile_str(p, p->meta.command), "./alloc");
		ck_assert_uint_eq(p->meta.loss[LOSS_INPUT_SKIPPED], 0);
		ck_assert_str_eq(profile_str(p, frame_named(p, "big")->file), "alloc.c");
		profile_free(p);
	}
}
END_TEST

START_TEST(trees_become_stacks)
{
	/* What no caller accounts for stays; the peak is kept, not the last tree. */
	check_folded(massif,
		     MASSIF_HEAD
		     "mem_heap_B=100\nheap_tree=detailed\nn1: 100 (heap) m\n"
		     " n0: 100 0x1: early (a.c:1)\n#---\nsnapshot=1\nheap_tree=peak\n"
		     "n2: 100 (heap allocation functions) malloc\n"
		     " n1: 70 0x1: std::f(int (*)(int)) (a.c:3)\n  n1: 60 0x2: g (in /lib/x.so)\n"
		     "   n0: 50 0x3: main (a.c:1)\n"
		     " n0: 20 in 2 places, all below massif's threshold (1.00%)\n"
		     "#---\nsnapshot=2\nheap_tree=detailed\nn0: 3 (heap) m\n",
		     "peak_space", "bytes",
		     "[empty] 10\n[below massif's threshold] 20\ng;std::f(int (*)(int)) 10\n"
		     "main;g;std::f(int (*)(int)) 50\nstd::f(int (*)(int)) 10\n",
		     0);
	check_folded(massif, MASSIF_HEAD "mem_heap_B=7\nheap_tree=empty\n", NULL, "bytes",
		     "[empty] 7\n", 0);
	check_folded(massif,
		     MASSIF_HEAD
		     "heap_tree=detailed\nn1: 9 (heap) m\n n0: 9 0x1: ??? (in /lib/x.so)\n",
		     "inuse_space", "bytes", "[unknown] 9\n", 0);
	/* A child without its parent, and what is no node. */
	check_folded(massif,
		     MASSIF_HEAD
		     "heap_tree=peak\nn0: 9 (heap) m\n   n0: 9 0x1: f (a.c:1)\n nonsense\n",
		     NULL, "bytes", "[empty] 9\n", 2);
	/* A tree of nothing is not damaged, and does not replace the one before. */
	check_folded(massif,
		     MASSIF_HEAD "heap_tree=detailed\nn0: 0 (heap) m\n#---\nsnapshot=1\n"
				 "heap_tree=detailed\nn1: 9 (heap) m\n n0: 9 0x1: f (a.c:1)\n#---\n"
				 "snapshot=2\nheap_tree=detailed\nn0: 0 (heap) m\n",
		     "inuse_space", "bytes", "f 9\n", 0);
	check_folded(massif, MASSIF_HEAD "heap_tree=detailed\n", NULL, "bytes", "", 1);
	check_refused(massif, "desc: x\n", "no snapshot");
}
END_TEST

#define DHAT_HEAD "{\"dhatFileVersion\":2,\"mode\":\"heap\","

START_TEST(points_become_stacks)
{
	const struct format *f = &format_dhat;
	check_folded(f,
		     DHAT_HEAD "\"pps\":[{\"tb\":5,\"tbk\":1,\"fs\":[1,2]}],"
			       "\"ftbl\":[\"[root]\",\"0x1: f (a.c:1)\",\"0x2: main (a.c:2)\"]}",
		     NULL, "bytes", "main;f 5\n", 0);
	check_folded(f,
		     DHAT_HEAD "\"ftbl\":[\"[root]\"],\"pps\":[{\"tb\":5,\"fs\":[9,-1,\"x\"]},3]}",
		     NULL, "bytes", "[unknown];[unknown];[unknown] 5\n", 4);
	check_folded(f,
		     "{\"dhatFileVersion\":2,\"mode\":\"ad-hoc\",\"pps\":[{\"tb\":5,\"fs\":[]}]}",
		     "weight", NULL, "[empty] 5\n", 0);
	check_folded(f, DHAT_HEAD "\"pps\":[{\"tb\":0,\"fs\":[7]},{},{\"tb\":5,\"fs\":[]}]}", NULL,
		     "bytes", "[empty] 5\n", 0);
	check_refused(f, DHAT_HEAD "\"pps\":[]}", "no program point");
	check_refused(f, "{\"pps\":[{\"tb\":1}]}", "no program point");
}
END_TEST

START_TEST(files_may_be_cut_anywhere)
{
	static const char text[] =
		MASSIF_HEAD "heap_tree=peak\nn1: 9 (heap) m\n n0: 9 0x1: f (a.c:1)\n";
	check_cut_anywhere(massif, text, strlen(text));
	check_cut_file(&format_dhat, "tests/golden/valgrind/dhat.json");
}
END_TEST

/* A tree deeper than what is kept. */
START_TEST(a_deep_tree_is_harmless)
{
	struct buf b = { 0 };
	struct err err = { 0 };
	buf_adds(&b, MASSIF_HEAD "heap_tree=peak\n");
	for (int i = 0; i < 2 * MASSIF_MAX_DEPTH; i++)
		buf_addf(&b, "%*sn1: 9 0x1: f (a.c:1)\n", i, "");
	struct profile *p = read_bytes(massif, b.data, b.len, &err);
	ck_assert_int_eq(profile_total(p, 0), 9);
	profile_free(p);
	buf_done(&b);
}
END_TEST

START_TEST(content_tells_the_format)
{
	ck_assert(massif->detect(MASSIF_HEAD, strlen(MASSIF_HEAD)));
	ck_assert(!massif->detect("desc: x\nevents: Ir\n", 19));
	ck_assert(format_dhat.detect(DHAT_HEAD, strlen(DHAT_HEAD)));
	ck_assert(!format_dhat.detect("{\"mode\":\"heap\"}", 15));
	ck_assert(!format_dhat.detect("", 0));
}
END_TEST

/* The last tree that has a node is shown. */
START_TEST(a_tree_cut_before_its_first_node)
{
	check_folded(massif,
		     MASSIF_HEAD "mem_heap_B=100\nheap_tree=detailed\nn1: 100 (heap) m\n"
				 " n0: 100 0x1: early (a.c:1)\n#---\nsnapshot=1\nheap_tree=peak\n",
		     "inuse_space", "bytes", "early 100\n", 1);
	check_folded(massif, MASSIF_HEAD "mem_heap_B=100\nheap_tree=peak\n", "peak_space", "bytes",
		     "[empty] 100\n", 1);
}
END_TEST

START_TEST(a_tree_cut_after_some_nodes)
{
	static const char text[] = MASSIF_HEAD "mem_heap_B=100\nheap_tree=peak\nn2: 100 (heap) m\n"
					       " n0: 60 0x1: f (a.c:1)\n n1: 40 0x1: g (a.c:1)\n"
					       "  n0: 40 0x1: main (a.c:1)\n";
	static const char *const lost[] = { "", "  n0", " n1", " n0" };
	static const char *const want[] = { "f 60\nmain;g 40\n", "f 60\ng 40\n",
					    "[empty] 40\nf 60\n", "[empty] 100\n" };
	for (int i = 0; i < 4; i++) {
		char cut[sizeof text];
		memcpy(cut, text, sizeof text);
		if (i)
			*strstr(cut, lost[i]) = '\0';
		check_folded(massif, cut, NULL, NULL, want[i], i > 0);
	}
}
END_TEST

UNIT_MAIN("valgrind", known_files_add_up, trees_become_stacks, points_become_stacks,
	  files_may_be_cut_anywhere, a_deep_tree_is_harmless, content_tells_the_format,
	  a_tree_cut_before_its_first_node, a_tree_cut_after_some_nodes)
