#include "server/served.h"

int served_open(struct served *d, const char *path, struct profile *file, struct store *store,
		struct err *err)
{
	struct source *s = NULL;
	*d = (struct served){ .is_open = true, .path = path, .file = file, .store = store };
	if (file)
		d->source = source_of_profile(file);
	pthread_mutex_init(&d->turn, NULL);
	pthread_mutex_init(&d->sql_turn, NULL);
	int rc = served_lease(d, &s, err);
	served_return(d, s);
	return rc;
}

void served_close(struct served *d)
{
	if (!d->is_open)
		return;
	source_close(d->source);
	pthread_mutex_destroy(&d->turn);
	pthread_mutex_destroy(&d->sql_turn);
	*d = (struct served){ 0 };
}

int served_lease(struct served *d, struct source **out, struct err *err)
{
	struct store *store = d->store;

	if (store)
		return source_of_store(store, out, err);
	if (!d->file)
		return source_open_store(d->path, out, err);
	pthread_mutex_lock(&d->turn);
	*out = d->source;
	return 0;
}

void served_return(struct served *d, struct source *s)
{
	if (!s)
		return;
	if (d->file)
		pthread_mutex_unlock(&d->turn);
	else
		source_close(s);
}
