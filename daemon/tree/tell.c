/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tell.c - see tell.h.
 */
#include "tree/tell.h"

#include "log/log.h"
#include "tree/look.h"
#include "tree/paths.h"

#include <errno.h>
#include <string.h>

void look_tell_error(const struct daemon *daemon, struct node *node,
		     const char *deed, int error)
{
	struct bloscfs_diag why = { .err = BLOSCFS_ERR_IO, .chunk = -1 };
	char path[PATH_MAX], what[64];

	look_name(daemon, node, path);
	snprintf(what, sizeof(what), "%s of the source failed", deed);
	snprintf(why.text, sizeof(why.text), "%s", strerror(error));
	log_fault(LEVEL_ERR, path, what, error, &why);
}

void look_tell_failure(const struct daemon *daemon, struct node *node,
		       const char *deed, int error,
		       const struct bloscfs_diag *why)
{
	struct node *owner = tree_owner(node);
	char path[PATH_MAX], inner[PATH_MAX], what[PATH_MAX + 64];

	look_name(daemon, owner, path);
	if (tree_path(node, inner, sizeof(inner)))
		strcpy(inner, "?");
	else if (owner->parent && strcmp(path, "."))
		memmove(inner, inner + strlen(path) + 1,
			strlen(inner + strlen(path) + 1) + 1);
	snprintf(what, sizeof(what), "%s of %s failed", deed, inner);
	/* A changed source is nobody's fault. */
	log_fault(error == ESTALE ? LEVEL_WARN : LEVEL_ERR, path, what, error,
		  why);
}

void look_tell_status(const char *path, struct bloscfs_file *file)
{
	char quoted[512];
	struct bloscfs_diag why = { .chunk = -1 };
	uint64_t mark = bloscfs_mark();
	enum bloscfs_status status = bloscfs_file_status(file, &why);

	/* Nothing is known then; whoever asks is told. */
	if (bloscfs_met(mark, NULL) != BLOSCFS_OK)
		return;
	switch (status) {
	case BLOSCFS_GOOD:
		log_msg(LEVEL_INFO, "%s: opened",
			log_quote(quoted, sizeof(quoted), path));
		break;
	case BLOSCFS_DAMAGED:
		log_fault(LEVEL_WARN, path, "damaged, serving what can be "
			  "decoded", 0, &why);
		break;
	case BLOSCFS_UNSUPPORTED:
		log_fault(LEVEL_WARN, path, "not decodable by this build",
			  0, &why);
		break;
	}
}
