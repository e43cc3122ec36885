/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * root.c - see root.h.
 */
#include "mount/root.h"

#include "log/log.h"
#include "mount/say.h"
#include "tree/far.h"
#include "tree/look.h"
#include "tree/opening.h"
#include "tree/source_rights.h"
#include "tree/tell.h"

#include <stdlib.h>
#include <string.h>

static enum exit_code open_tree(struct daemon *daemon,
				const struct src_stat *st)
{
	if (tree_init(&daemon->tree, NODE_DIR, st, daemon->max_idle))
		return say_failed(EXIT_FAILED, "no memory to start; free some");
	daemon->tree.keeps = daemon->opts->keep;
	return EXIT_OK;
}

/* SOURCE is one container, a file or a directory: it must be one now. */
static enum exit_code open_single(struct daemon *daemon, const char *source)
{
	const char *path = daemon->src.file ? daemon->src.file : "";
	struct bloscfs_diag why;
	struct opened opened;
	struct container *container;
	int status = look_open(daemon, path, &opened, &why);

	if (status && why.err == BLOSCFS_OK)
		return say_failed(EXIT_SOURCE, "cannot read '%s': %s; ask for "
			    "permission to read it", source,
			    strerror(-status));
	if (status)
		return say_failed(EXIT_SOURCE, "'%s' is not a container that "
			    "bloscfs knows: %s, offset %llu; check the file",
			    source, why.text[0] ? why.text :
			    bloscfs_err_name(why.err),
			    (unsigned long long)why.off);
	look_tell_status(*path ? path : ".", opened.file);
	if (tree_init(&daemon->tree, NODE_CONTAINER, &opened.st,
		      daemon->max_idle)) {
		bloscfs_close(opened.file);
		return say_failed(EXIT_FAILED, "no memory to start; free some");
	}
	container =
		tree_add_container(&daemon->tree, daemon->tree.root, &opened);
	if (!container)
		return say_failed(EXIT_FAILED, "no memory to start; free some");
	tree_put_container(&daemon->tree, container);
	return EXIT_OK;
}

static void tell_store(const char *source)
{
	char quoted[512];

	log_msg(LEVEL_NOTICE, "%s lies in a store of Zarr or N5: its files are "
		"left as they are; formats= names what to take",
		log_quote(quoted, sizeof(quoted), source));
}

/* In a store, files are left as they are unless formats= names what to take. */
static void heed_store(struct daemon *daemon, const char *source)
{
	bool named = daemon->opts->choice.named;

	for (size_t i = 0; i < daemon->src.sides.n; i++)
		if (daemon->src.sides.list[i].lies_in_store && !named)
			tell_store(daemon->src.sides.list[i].real);
	if (!daemon->lies_in_store)
		return;
	daemon->no_stores = named;
	daemon->in_store = !daemon->no_stores;
	if (daemon->in_store)
		tell_store(source);
}

/* Asks the server for the first time: whether SOURCE is there, and what. */
static enum exit_code ask_server(struct daemon *daemon)
{
	struct shelf *shelf = far_shelf(daemon->src.far);
	char why[REMOTE_WHY_CAP];
	int status = shelf_probe(shelf, why);
	const char *name;

	if (status)
		return say_failed(EXIT_SOURCE, "cannot read '%s': %s; %s",
				  daemon->source,
				  *why ? why : strerror(-status),
				  shelf_advice(shelf, status));
	name = shelf_single(shelf);
	if (!name)
		return EXIT_OK;
	daemon->src.file = strdup(name);
	return daemon->src.file ? EXIT_OK :
	       say_failed(EXIT_FAILED, "no memory to start; free some");
}

static enum exit_code open_what_it_is(struct daemon *daemon)
{
	const char *source = daemon->source;
	enum src_kind kind = SRC_CONTAINER;
	struct src_stat st;
	int status = 0;

	daemon->src.choice = &daemon->opts->choice;
	if (!daemon->src.file) {
		status = src_look(&daemon->src, -1, "", NULL, &st);
		if (!status)
			status = src_kind(&daemon->src, -1, "", &st, &kind);
		if (!status && kind != SRC_CONTAINER)
			heed_store(daemon, source);
	}
	if (status)
		return say_failed(EXIT_SOURCE, "cannot look into '%s': %s; "
				  "give another", source, strerror(-status));
	return kind == SRC_CONTAINER ? open_single(daemon, source) :
				       open_tree(daemon, &st);
}

enum exit_code root_open(struct daemon *daemon)
{
	enum exit_code code = EXIT_OK;

	daemon->src.tables = bloscfs_beside_name(daemon->fs, 0);
	if (daemon->src.far)
		code = ask_server(daemon);
	if (!code)
		code = open_what_it_is(daemon);
	daemon->tree.fs = daemon->fs;
	return code;
}

void root_release(struct daemon *daemon)
{
	if (daemon->tree.root)
		tree_release(&daemon->tree);
	src_close(&daemon->src);
	if (daemon->fs)
		bloscfs_free(daemon->fs);
	free(daemon->mountpoint);
	free(daemon->write_dir);
	log_close();
}
