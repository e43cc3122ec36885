/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reply.h - what goes back to the kernel: attributes, entries, bytes.
 *
 * Each worker has buffers of its own, made before it takes requests, so that
 * no request allocates.
 */
#ifndef BFS_DAEMON_OPS_REPLY_H
#define BFS_DAEMON_OPS_REPLY_H

#include "daemon.h"

#include <sys/stat.h>

/* This thread's buffers, with room for a read's bytes at once: 0 or
 * -ENOMEM. */
int reply_thread_init(bool at_once);
void reply_thread_release(void);
/* Gives back the room for bytes until it is needed. */
void reply_thread_trim(void);
/* Room for len bytes until the next call; NULL on no memory. */
void *reply_buffer(size_t len);
struct bloscfs_pieces *reply_pieces(void);

/* Who may do what with a node, as the mount shows it; is_dir tells entries of
 * containers apart. */
struct rights reply_rights(const struct daemon *daemon, enum node_kind kind,
			   bool is_dir, const struct src_stat *st);
void reply_attr_source(const struct daemon *daemon, enum node_kind kind,
		       const struct src_stat *st, uint64_t ino,
		       struct stat *ret_attr);
/* st is the container's file. */
void reply_attr_entry(const struct daemon *daemon,
		      const struct bloscfs_attr *entry,
		      const struct src_stat *st, uint64_t ino,
		      struct stat *ret_attr);

/* A listing in the making; with "plus" entries carry their attributes. */
struct listing {
	fuse_req_t req;
	char *buf;
	size_t len, cap;
	bool plus;
	bool link;		/* make nodes for the entries */
};

/* 0 or -ENOMEM. */
int reply_list_start(struct listing *list, fuse_req_t req, size_t cap,
		     bool plus);
bool reply_list_fits(const struct listing *list, const char *name);
/* name must fit. param->ino 0: nothing but the name and type is told. */
void reply_list_add(struct listing *list, const char *name,
		    const struct fuse_entry_param *param, off_t next);
/* "." or "..", which must fit: a number and a type, nothing that the kernel
 * would keep. */
void reply_list_add_dots(struct daemon *daemon, struct listing *list,
			 struct node *node, const char *name, off_t next);
/* Both, at the offsets 0 and 1, from *off on, which is moved on. False where
 * not all did fit. */
bool reply_list_dots(struct daemon *daemon, struct listing *list,
		     struct node *node, off_t *off);
/* What the kernel did not take is forgotten again. */
void reply_list_send(struct daemon *daemon, const struct listing *list);

/* Fills what an entry's reply needs beside attr. */
void reply_param(const struct daemon *daemon, uint64_t id,
		 struct fuse_entry_param *param);

#endif
