#include "symbol/demangle.h"

#include "symbol/symbol.h"

#include <string.h>

void demangled_add(const char *text, size_t len, void *demangled)
{
	struct demangled *d = demangled;
	if (len > DEMANGLE_MAX_RESULT - d->text.len)
		longjmp(d->full, 1);
	buf_add(&d->text, text, len);
}

char *symbol_demangle(const char *name)
{
	struct demangled d = { 0 };
	bool ok = false;
	if (name[0] != '_' || !name[1] || !strchr("ZRD", name[1]))
		return NULL;
	size_t len = strnlen(name, DEMANGLE_MAX_NAME + 1);
	if (len > DEMANGLE_MAX_NAME)
		return NULL;
	switch (name[1]) {
	case 'R':
		ok = demangle_rust(name, len, &d);
		break;
	case 'Z': /* Rust's legacy names are valid C++ names, too */
		ok = demangle_rust(name, len, &d) || demangle_cxx(name, len, &d);
		break;
	case 'D':
		ok = demangle_d(name, len, &d);
		break;
	}
	if (ok && d.text.len > 0)
		return buf_steal(&d.text);
	buf_done(&d.text);
	return NULL;
}
