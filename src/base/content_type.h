/* base/content_type.h: what the files of the page are, as HTTP says it. */
#ifndef CRESSET_BASE_CONTENT_TYPE_H
#define CRESSET_BASE_CONTENT_TYPE_H

/* By its ending; NULL: nothing that a page is made of. */
const char *content_type_of(const char *path);

#endif
