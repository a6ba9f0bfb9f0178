/* Memory of growable arrays: not in vec.h, so that its many users do not depend on mem.h. */
#include "base/vec.h"

#include "base/mem.h"

void *vec_resize(void *v, size_t cap, size_t size)
{
	return xreallocarray(v, cap, size);
}
