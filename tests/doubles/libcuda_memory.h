/* tests/doubles/libcuda_memory.h: the part of libcuda.so.1.c that is memory: addresses without anything behind them, but for managed memory and that
 * of the host. */

struct block {
	addr_t address; /* 0: the place is free */
	u64 bytes;
	u32 context, device;
};
static struct {
	struct block *v;
	size_t room, n;
	addr_t next;
	u64 next_handle;
} blocks = { .next = 0x7d0000000000ull, .next_handle = 0x10000000ull };

static struct block *block_at(addr_t address)
{
	size_t i = (address >> 9) * 0x9e3779b97f4a7c15ull >> 20 & (blocks.room - 1);

	while (blocks.v[i].address && blocks.v[i].address != address)
		i = (i + 1) & (blocks.room - 1);
	return &blocks.v[i];
}

static void add_block(const struct block *b)
{
	if (2 * blocks.n >= blocks.room) {
		struct block *old = blocks.v;
		size_t room = blocks.room;

		blocks.room = room ? 2 * room : 1024;
		blocks.v = calloc(blocks.room, sizeof *blocks.v);
		for (size_t i = 0; i < room; i++)
			if (old[i].address)
				*block_at(old[i].address) = old[i];
		free(old);
	}
	*block_at(b->address) = *b;
	blocks.n++;
}

/* Those behind it move up, as in any table of this kind. */
static void remove_block(struct block *b)
{
	size_t i = b - blocks.v;

	used_bytes[b->device] -= b->bytes;
	b->address = 0;
	blocks.n--;
	for (i = (i + 1) & (blocks.room - 1); blocks.v[i].address;
	     i = (i + 1) & (blocks.room - 1)) {
		struct block moved = blocks.v[i];

		blocks.v[i].address = 0;
		*block_at(moved.address) = moved;
	}
}

static void forget_memory(u32 context)
{
	bool again = true;

	pthread_mutex_lock(&lock);
	while (again) {
		again = false;
		for (size_t i = 0; i < blocks.room; i++)
			if (blocks.v[i].address && blocks.v[i].context == context) {
				remove_block(&blocks.v[i]);
				again = true;
			}
	}
	pthread_mutex_unlock(&lock);
}

static void tell_memory(u32 work, addr_t address, u64 bytes)
{
	struct double_cuda_event e = { .kind = DOUBLE_WORK,
				       .work = work,
				       .name = work == DOUBLE_ALLOC ? "alloc" : "free",
				       .address = address,
				       .bytes = bytes,
				       .correlation = self.correlation,
				       .tid = own_tid() };

	if (!is_heard())
		return;
	e.start_ns = e.end_ns = now_ns();
	e.device = current() ? current()->device : 0;
	e.context = current() ? current()->id : 0;
	tell(&e);
}

/* host: an address that the program can use, 0: one of the device. */
static int allocate(addr_t *out, u64 bytes, addr_t host)
{
	struct context *c = current();
	struct block b = { .bytes = bytes };

	if (!c)
		return INVALID_CONTEXT;
	if (!bytes || !out)
		return INVALID_VALUE;
	b.context = c->id;
	b.device = c->device;
	pthread_mutex_lock(&lock);
	bool fits = bytes <= script.device[c->device].memory - used_bytes[c->device];
	if (fits) {
		b.address = host ? host : blocks.next;
		if (!host)
			blocks.next += (bytes + 511) & ~511ull;
		used_bytes[c->device] += bytes;
		add_block(&b);
		*out = b.address;
	}
	pthread_mutex_unlock(&lock);
	if (fits)
		tell_memory(DOUBLE_ALLOC, b.address, bytes);
	return fits ? OK : OUT_OF_MEMORY;
}

static int release(addr_t address)
{
	u64 bytes = 0;

	if (!address)
		return OK;
	pthread_mutex_lock(&lock);
	struct block *b = blocks.room ? block_at(address) : NULL;
	bool is_there = b && b->address;
	if (is_there) {
		bytes = b->bytes;
		remove_block(b);
	}
	pthread_mutex_unlock(&lock);
	if (is_there)
		tell_memory(DOUBLE_FREE, address, bytes);
	return is_there ? OK : INVALID_VALUE;
}

static int allocate_managed(addr_t *out, u64 bytes)
{
	void *host = aligned_alloc(512, (bytes + 511) & ~511ull);

	return allocate(out, bytes, (addr_t)host);
}

static int allocate_pitch(addr_t *out, size_t *pitch, size_t width, size_t height)
{
	*pitch = (width + 511) & ~511ull;
	return allocate(out, *pitch * height, 0);
}

static int create_handle(u64 *out, u64 bytes)
{
	u64 handle = __atomic_fetch_add(&blocks.next_handle, 512, __ATOMIC_RELAXED);

	return allocate(out, bytes, handle);
}

/* --- handles of memory, and where it is mapped ------------------------------------------------------------------------------- */

/* What a handle stands for goes when nothing is left of it: no handle, no mapping. */
struct mapping {
	addr_t at;
	u64 bytes, handle; /* 0: the place is free */
};
enum { MAPPINGS = 4096 };
static struct mapping mappings[MAPPINGS];
static u32 mapped_handles; /* places that were ever used */
struct reference {
	u64 handle;
	u32 refs;
};
static struct reference references[MAPPINGS];

static struct reference *reference_of(u64 handle)
{
	for (u32 i = 0; i < MAPPINGS; i++)
		if (references[i].handle == handle)
			return &references[i];
	return NULL;
}

static bool is_mapped(u64 handle)
{
	for (u32 i = 0; i < mapped_handles; i++)
		if (mappings[i].handle == handle)
			return true;
	return false;
}

static int create_shared(u64 *out, u64 bytes)
{
	int rc = create_handle(out, bytes);
	struct reference *r;

	pthread_mutex_lock(&lock);
	r = rc == OK ? reference_of(0) : NULL;
	if (r)
		*r = (struct reference){ *out, 1 };
	pthread_mutex_unlock(&lock);
	return rc;
}

static int release_if_unused(u64 handle)
{
	struct reference *r = reference_of(handle);

	if (!r || r->refs || is_mapped(handle))
		return OK;
	r->handle = 0;
	return release(handle);
}

static int release_shared(u64 handle)
{
	struct reference *r = reference_of(handle);

	if (!handle || !r || !r->refs)
		return INVALID_VALUE;
	r->refs--;
	return release_if_unused(handle);
}

static int map_at(addr_t at, u64 bytes, u64 handle)
{
	u32 i = 0;

	while (i < mapped_handles && mappings[i].handle)
		i++;
	if (i == MAPPINGS || !reference_of(handle))
		return INVALID_VALUE;
	mappings[i] = (struct mapping){ at, bytes, handle };
	mapped_handles += i == mapped_handles;
	return OK;
}

static int unmap_range(addr_t at, u64 bytes)
{
	for (u32 i = 0; i < mapped_handles; i++) {
		u64 handle = mappings[i].handle;

		if (!handle || mappings[i].at < at ||
		    mappings[i].at + mappings[i].bytes > at + bytes)
			continue;
		mappings[i].handle = 0;
		release_if_unused(handle);
	}
	return OK;
}

static int retain_at(u64 *out, addr_t at)
{
	for (u32 i = 0; i < mapped_handles; i++)
		if (mappings[i].handle && mappings[i].at == at) {
			*out = mappings[i].handle;
			reference_of(*out)->refs++;
			return OK;
		}
	return INVALID_VALUE;
}

/* --- arrays ------------------------------------------------------------------------------------------------------------------- */

struct array_2d {
	u64 width, height;
	u32 format, channels;
};
struct array_3d {
	u64 width, height, depth;
	u32 format, channels, flags;
};

/* Of formats with whole bytes: the low bits of their numbers say how many. */
static u64 format_bytes(u32 format)
{
	switch (format) {
	case 0x01:
	case 0x08:
		return 1;
	case 0x02:
	case 0x09:
	case 0x10:
		return 2;
	}
	return 4;
}

static int create_array(u64 *out, const struct array_3d *d, u32 levels)
{
	u64 bytes = 0;

	for (u32 i = 0; i < levels; i++) {
		u64 depth = d->flags & 1 ? d->depth : d->depth >> i;

		bytes += (d->width >> i ? d->width >> i : 1) *
			 (d->height >> i ? d->height >> i : 1) * (depth ? depth : 1);
	}
	if (d->flags & 0x40) { /* sparse */
		*out = __atomic_fetch_add(&blocks.next_handle, 512, __ATOMIC_RELAXED);
		return OK;
	}
	return create_handle(out, bytes * format_bytes(d->format) * d->channels);
}

static int create_flat(u64 *out, const struct array_2d *d)
{
	struct array_3d full = { d->width, d->height, 0, d->format, d->channels, 0 };

	return create_array(out, &full, 1);
}

API(cuArrayCreate_v2, u64 *out, const struct array_2d *d)
{
	CALL(cuArrayCreate_v2, create_flat(out, d));
}

API(cuArray3DCreate_v2, u64 *out, const struct array_3d *d)
{
	CALL(cuArray3DCreate_v2, create_array(out, d, 1));
}

API(cuMipmappedArrayCreate, u64 *out, const struct array_3d *d, u32 levels)
{
	CALL(cuMipmappedArrayCreate, create_array(out, d, levels));
}

API(cuArrayDestroy, u64 array)
{
	CALL(cuArrayDestroy, release(array));
}

API(cuMipmappedArrayDestroy, u64 array)
{
	CALL(cuMipmappedArrayDestroy, release(array));
}

API(cuMemRetainAllocationHandle, u64 *out, addr_t at)
{
	CALL(cuMemRetainAllocationHandle, retain_at(out, at));
}

static int memory_left(size_t *left, size_t *all)
{
	u32 device = current() ? current()->device : 0;

	*all = script.device[device].memory;
	*left = *all - used_bytes[device];
	return current() ? OK : INVALID_CONTEXT;
}

API(cuMemAlloc_v2, addr_t *out, size_t bytes)
{
	CALL(cuMemAlloc_v2, allocate(out, bytes, 0));
}

API(cuMemAllocPitch_v2, addr_t *out, size_t *pitch, size_t width, size_t height, u32 element)
{
	(void)element;
	CALL(cuMemAllocPitch_v2, allocate_pitch(out, pitch, width, height));
}

API(cuMemAllocManaged, addr_t *out, size_t bytes, u32 flags)
{
	(void)flags;
	CALL(cuMemAllocManaged, allocate_managed(out, bytes));
}

API(cuMemAllocAsync, addr_t *out, size_t bytes, struct stream *s)
{
	(void)s;
	CALL(cuMemAllocAsync, allocate(out, bytes, 0));
}

API(cuMemAllocFromPoolAsync, addr_t *out, size_t bytes, void *pool, struct stream *s)
{
	(void)pool, (void)s;
	CALL(cuMemAllocFromPoolAsync, allocate(out, bytes, 0));
}

API(cuMemFree_v2, addr_t address)
{
	CALL(cuMemFree_v2, release(address));
}

API(cuMemFreeAsync, addr_t address, struct stream *s)
{
	(void)s;
	CALL(cuMemFreeAsync, release(address));
}

API(cuMemCreate, u64 *handle, size_t bytes, const void *properties, u64 flags)
{
	(void)properties, (void)flags;
	CALL(cuMemCreate, create_shared(handle, bytes));
}

API(cuMemRelease, u64 handle)
{
	CALL(cuMemRelease, release_shared(handle));
}

API(cuMemAddressReserve, addr_t *out, size_t bytes, size_t align, addr_t where, u64 flags)
{
	(void)align, (void)where, (void)flags;
	CALL(cuMemAddressReserve,
	     (*out = __atomic_fetch_add(&blocks.next, (bytes + 511) & ~511ull, __ATOMIC_RELAXED),
	      OK));
}

API(cuMemMap, addr_t at, size_t bytes, size_t offset, u64 handle, u64 flags)
{
	(void)offset, (void)flags;
	CALL(cuMemMap, map_at(at, bytes, handle));
}

API(cuMemUnmap, addr_t at, size_t bytes)
{
	CALL(cuMemUnmap, unmap_range(at, bytes));
}

API(cuMemAllocHost_v2, void **out, size_t bytes)
{
	CALL(cuMemAllocHost_v2, (*out = malloc(bytes)) ? OK : OUT_OF_MEMORY);
}

API(cuMemHostAlloc, void **out, size_t bytes, u32 flags)
{
	(void)flags;
	CALL(cuMemHostAlloc, (*out = malloc(bytes)) ? OK : OUT_OF_MEMORY);
}

API(cuMemFreeHost, void *p)
{
	CALL(cuMemFreeHost, (free(p), OK));
}

API(cuMemGetInfo_v2, size_t *left, size_t *all)
{
	CALL(cuMemGetInfo_v2, memory_left(left, all));
}
