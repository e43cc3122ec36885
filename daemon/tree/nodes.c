/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nodes.c - nodes: slots, names, counts.
 *
 * No lock is held over I/O: callers look at the source first and tell the
 * tree what they found. Opened containers are tree/containers.c's.
 */
#include "tree/nodes.h"

#include "invariant.h"
#include "tree/containers_priv.h"
#include "tree/keepname.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROOT_SLOT 1		/* FUSE's root id is 1 */
#define MAX_SLOTS UINT32_MAX
#define MAX_CONTROL ((size_t)64 << 20)	/* bytes of snapshots in use */
/* What a node takes of the heap, but for its name; and from what difference on
 * the library is told. */
#define NODE_LEN (sizeof(struct node) + 24)
#define TELL_LEN ((size_t)64 << 10)

/* As bfs_mix in the library, of which the daemon sees bloscfs.h alone. */
static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

uint64_t tree_ino(const struct src_stat *st, enum node_kind kind,
		  uint64_t number)
{
	uint64_t ino = mix(st->ino + mix(st->dev + 1));

	/* Containers and plain files never share a number's meaning. */
	ino = mix(ino + kind);
	ino = mix(ino + number);
	return ino < 2 ? ino + 2 : ino;
}

static uint32_t hash_name(uint64_t parent_id, const char *name)
{
	uint64_t key = mix(parent_id);

	for (const unsigned char *s = (const unsigned char *)name; *s; s++)
		key = (key ^ *s) * UINT64_C(0x100000001b3);
	return (uint32_t)mix(key);
}

static struct node **bucket_of(struct tree *tree, uint32_t hash)
{
	return &tree->buckets[hash & (tree->n_buckets - 1)];
}

static struct node *find_name(struct tree *tree, const struct node *parent,
			      const char *name)
{
	uint32_t hash = hash_name(parent->id, name);
	struct node *node = *bucket_of(tree, hash);

	while (node && !(node->hash == hash && node->parent == parent &&
			 strcmp(node->name, name) == 0))
		node = node->next;
	return node;
}

/* Failing to grow costs time only. */
static void grow_buckets(struct tree *tree)
{
	size_t n_old = tree->n_buckets;
	struct node **old = tree->buckets, *node, **bucket;
	struct node **grown = calloc(2 * n_old, sizeof(*grown));

	if (!grown)
		return;
	tree->buckets = grown;
	tree->n_buckets = 2 * n_old;
	for (size_t i = 0; i < n_old; i++) {
		while ((node = old[i])) {
			old[i] = node->next;
			bucket = bucket_of(tree, node->hash);
			node->next = *bucket;
			*bucket = node;
		}
	}
	free(old);
}

static void hash_node(struct tree *tree, struct node *node)
{
	struct node **bucket;

	if (tree->n_nodes > tree->n_buckets)
		grow_buckets(tree);
	node->hash = hash_name(node->parent->id, node->name);
	bucket = bucket_of(tree, node->hash);
	node->next = *bucket;
	*bucket = node;
	node->hashed = true;
}

static void unhash_node(struct tree *tree, struct node *node)
{
	struct node **at;

	if (!node->hashed)
		return;
	at = bucket_of(tree, node->hash);
	while (*at != node)
		at = &(*at)->next;
	*at = node->next;
	node->hashed = false;
}

static int grow_slots(struct tree *tree)
{
	size_t n_old = tree->n_slots, n_new = n_old ? 2 * n_old : 64;
	struct slot *grown;

	if (n_new > MAX_SLOTS)
		return -ENOMEM;
	grown = realloc(tree->slots, n_new * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	tree->slots = grown;
	tree->n_slots = n_new;
	if (n_old == 0)
		n_old = ROOT_SLOT + 1;	/* 0 is never a node */
	for (size_t i = n_new; i-- > n_old;) {
		grown[i] = (struct slot){
			.next_free = tree->first_free,
		};
		tree->first_free = (uint32_t)i;
	}
	return 0;
}

static int take_slot(struct tree *tree, struct node *node)
{
	uint32_t i;

	if (!tree->first_free) {
		int error = grow_slots(tree);

		if (error)
			return error;
	}
	i = tree->first_free;
	tree->first_free = tree->slots[i].next_free;
	tree->slots[i].node = node;
	node->id = (uint64_t)tree->slots[i].generation << 32 | i;
	return 0;
}

static void free_slot(struct tree *tree, uint64_t id)
{
	uint32_t i = (uint32_t)id;

	tree->slots[i].node = NULL;
	/* A slot whose generations are used up is never used again. */
	if (++tree->slots[i].generation == 0)
		return;
	tree->slots[i].next_free = tree->first_free;
	tree->first_free = i;
}

static struct node *make_node(const char *name, enum node_kind kind)
{
	size_t len = strlen(name) + 1;
	struct node *node = calloc(1, sizeof(*node) + len);

	if (!node)
		return NULL;
	memcpy(node->name, name, len);
	node->kind = (uint8_t)kind;
	return node;
}

static void free_node(struct node *node)
{
	if (node->kind == NODE_CONTROL)
		free(node->control.text);
	free(node);
}

/* With the lock held: the memory of nodes counts against max_memory. */
static void tell_memory(struct tree *tree)
{
	size_t len = tree->n_nodes * NODE_LEN + tree->name_len +
		     tree->n_slots * sizeof(*tree->slots) +
		     tree->n_buckets * sizeof(*tree->buckets);
	size_t differs = len > tree->told_len ? len - tree->told_len :
						tree->told_len - len;

	if (!tree->fs || differs < TELL_LEN)
		return;
	tree->told_len = len;
	bloscfs_beside(tree->fs, len);
}

/* A new node below parent, with one lookup, that no name leads to. */
static struct node *add_nameless(struct tree *tree, struct node *parent,
				 const char *name, enum node_kind kind)
{
	struct node *node = make_node(name, kind);

	if (!node || take_slot(tree, node)) {
		free(node);
		return NULL;
	}
	node->parent = parent;
	parent->refs++;
	node->n_lookups = 1;
	tree->n_nodes++;
	tree->name_len += strlen(name);
	tell_memory(tree);
	return node;
}

/* The same, hashed. */
static struct node *add_node(struct tree *tree, struct node *parent,
			     const char *name, enum node_kind kind)
{
	struct node *node = add_nameless(tree, parent, name, kind);

	if (node)
		hash_node(tree, node);
	return node;
}

/* The same for what is an entry of the source, or a directory beside one. */
static struct node *add_source(struct tree *tree, struct node *parent,
			       const char *name, enum node_kind kind,
			       const struct src_stat *st)
{
	struct node *node = add_node(tree, parent, name, kind);
	unsigned number;

	if (!node)
		return NULL;
	node->st = *st;
	node->st_ino = tree_ino(st, kind, 0);
	if (tree->keeps && kind == NODE_CONTAINER)
		node->suffix = (uint8_t)keep_suffix(name, &number);
	return node;
}

static struct node *node_of(struct tree *tree, uint64_t id)
{
	uint32_t i = (uint32_t)id;

	if (i >= tree->n_slots || tree->slots[i].generation != id >> 32)
		return NULL;
	return tree->slots[i].node;
}

static bool is_unused(const struct node *node)
{
	return node->parent && !node->refs && !node->n_lookups;
}

/* Frees an unused node; its parent may be unused by now. */
static struct node *let_go(struct tree *tree, struct node *node,
			   struct container **closing)
{
	struct node *parent = node->parent;

	if (node->kind == NODE_CONTAINER)
		containers_detach(tree, node, closing);
	if (node->kind == NODE_CONTROL)
		tree->control_len -= node->control.len;
	unhash_node(tree, node);
	free_slot(tree, node->id);
	tree->n_nodes--;
	tree->name_len -= strlen(node->name);
	free_node(node);
	tell_memory(tree);
	INVARIANT(parent->refs > 0);
	parent->refs--;
	return parent;
}

/* Puts an unused node in line to be freed, in the place of the one that
 * waited longest. If that is unused still it is freed: its parent, or NULL. */
static struct node *wait_in_line(struct tree *tree, struct node *node,
				 struct container **closing)
{
	uint64_t *place = &tree->waiting[tree->next_waiting];
	struct node *first = node_of(tree, *place);

	tree->next_waiting = (tree->next_waiting + 1) % TREE_WAITING;
	*place = node->id;
	node->waiting = true;
	if (!first)
		return NULL;
	first->waiting = false;
	return is_unused(first) ? let_go(tree, first, closing) : NULL;
}

/* Lets go of a node that nothing holds any more, and then of its parents
 * alike. Containers to close come back as a list. */
static struct container *reap(struct tree *tree, struct node *node)
{
	struct container *closing = NULL;

	while (node && is_unused(node) && !node->waiting)
		/* What its name has left will not be found again. */
		node = node->hashed ? wait_in_line(tree, node, &closing) :
				      let_go(tree, node, &closing);
	return closing;
}

int tree_init(struct tree *tree, enum node_kind kind,
	      const struct src_stat *st, size_t max_idle)
{
	*tree = (struct tree){ .max_idle = max_idle, .n_buckets = 64 };
	pthread_mutex_init(&tree->lock, NULL);
	tree->buckets = calloc(tree->n_buckets, sizeof(*tree->buckets));
	tree->waiting = calloc(TREE_WAITING, sizeof(*tree->waiting));
	tree->root = make_node("", kind);
	if (!tree->buckets || !tree->waiting || !tree->root ||
	    grow_slots(tree)) {
		tree_release(tree);
		return -ENOMEM;
	}
	tree->slots[0] = (struct slot){ 0 };
	tree->slots[ROOT_SLOT] = (struct slot){ .node = tree->root };
	tree->root->id = ROOT_SLOT;
	tree->root->st_ino = 1;
	tree->root->st = *st;
	tree->n_nodes = 1;
	return 0;
}

void tree_release(struct tree *tree)
{
	struct node *node;

	for (size_t i = ROOT_SLOT; tree->slots && i < tree->n_slots; i++) {
		struct container *closing = NULL;

		node = tree->slots[i].node;
		if (!node)
			continue;
		if (node->kind == NODE_CONTAINER)
			containers_detach(tree, node, &closing);
		containers_close(closing);
		if (node != tree->root)
			free_node(node);
	}
	free(tree->root);
	free(tree->slots);
	free(tree->buckets);
	free(tree->waiting);
	pthread_mutex_destroy(&tree->lock);
	*tree = (struct tree){ 0 };
}

struct node *tree_get(struct tree *tree, uint64_t id)
{
	struct node *node;

	pthread_mutex_lock(&tree->lock);
	node = node_of(tree, id);
	if (node)
		node->refs++;
	pthread_mutex_unlock(&tree->lock);
	return node;
}

void tree_put(struct tree *tree, struct node *node)
{
	struct container *closing;

	pthread_mutex_lock(&tree->lock);
	INVARIANT(node->refs > 0);
	node->refs--;
	closing = reap(tree, node);
	pthread_mutex_unlock(&tree->lock);
	containers_close(closing);
}

void tree_opened(struct tree *tree, struct node *node)
{
	pthread_mutex_lock(&tree->lock);
	node->refs++;
	node->n_opens++;
	pthread_mutex_unlock(&tree->lock);
}

void tree_closed(struct tree *tree, struct node *node)
{
	pthread_mutex_lock(&tree->lock);
	INVARIANT(node->n_opens > 0);
	node->n_opens--;
	pthread_mutex_unlock(&tree->lock);
	tree_put(tree, node);
}

void tree_forget(struct tree *tree, uint64_t id, uint64_t n_lookups)
{
	struct container *closing = NULL;
	struct node *node;

	pthread_mutex_lock(&tree->lock);
	node = node_of(tree, id);
	if (node) {
		node->n_lookups -= n_lookups < node->n_lookups ?
				   n_lookups : node->n_lookups;
		closing = reap(tree, node);
	}
	pthread_mutex_unlock(&tree->lock);
	containers_close(closing);
}

void tree_looked_up(struct tree *tree, struct node *node)
{
	pthread_mutex_lock(&tree->lock);
	node->n_lookups++;
	pthread_mutex_unlock(&tree->lock);
}

bool tree_known(struct tree *tree, struct node *parent, const char *name,
		enum node_kind *ret_kind, struct src_stat *ret_st)
{
	struct node *node;

	pthread_mutex_lock(&tree->lock);
	node = find_name(tree, parent, name);
	if (node && node->kind != NODE_ENTRY) {
		*ret_kind = (enum node_kind)node->kind;
		*ret_st = node->st;
	}
	pthread_mutex_unlock(&tree->lock);
	return node && node->kind != NODE_ENTRY;
}

/* With the lock held. */
static void set_stat(struct tree *tree, struct node *node,
		     const struct src_stat *st, struct container **closing)
{
	if (node->kind == NODE_CONTAINER &&
	    !src_same_container(&node->st, st)) {
		containers_outdate(tree, node, src_same_file(&node->st, st),
			       closing);
		node->version++;
	}
	node->st = *st;
	if (node != tree->root)
		node->st_ino = tree_ino(st, (enum node_kind)node->kind, 0);
}

void tree_update(struct tree *tree, struct node *node,
		 const struct src_stat *st)
{
	struct container *closing = NULL;

	pthread_mutex_lock(&tree->lock);
	set_stat(tree, node, st, &closing);
	pthread_mutex_unlock(&tree->lock);
	containers_close(closing);
}

bool tree_note_open(struct tree *tree, struct node *node,
		    const struct src_stat *st)
{
	uint64_t now = mix(st->ino + mix(st->dev + 1));
	bool same;

	now = mix(now + st->size);
	now = mix(now + (uint64_t)st->mtime_sec);
	now = mix(now + st->mtime_nsec) | 1;
	pthread_mutex_lock(&tree->lock);
	same = node->opened_as == now || node->opened_as == 0;
	node->opened_as = now;
	pthread_mutex_unlock(&tree->lock);
	return same;
}

/* A container stays the node it is when its file is replaced: what changes
 * are the entries below. Anything else is a new node then, since the kernel
 * may hold pages of the old one. */
static bool is_same(const struct node *node, enum node_kind kind,
		    const struct src_stat *st)
{
	return node->kind == kind &&
	       (kind == NODE_CONTAINER || src_same_file(&node->st, st));
}

/* With the lock held: it is left to those who have it open. */
static void leave_node(struct tree *tree, struct node *node,
		       struct container **closing)
{
	unhash_node(tree, node);
	if (node->kind == NODE_CONTAINER)
		containers_detach(tree, node, closing);
}

int tree_enter_source(struct tree *tree, struct node *parent,
		      const char *name, enum node_kind kind,
		      const struct src_stat *st, uint64_t *ret_id,
		      uint64_t *ret_ino)
{
	struct container *closing = NULL;
	struct node *node;
	int status = -ENOMEM;

	pthread_mutex_lock(&tree->lock);
	node = find_name(tree, parent, name);
	if (node && !is_same(node, kind, st)) {
		leave_node(tree, node, &closing);
		node = NULL;
	}
	if (node) {
		node->n_lookups++;
		set_stat(tree, node, st, &closing);
	} else {
		node = add_source(tree, parent, name, kind, st);
	}
	if (node) {
		*ret_id = node->id;
		*ret_ino = node->st_ino;
		status = 0;
	}
	pthread_mutex_unlock(&tree->lock);
	containers_close(closing);
	return status;
}

/* With the lock held: whether an entry of one version is one of another. */
static bool goes_on(const struct node *owner, const struct entry *entry,
		    uint32_t version)
{
	return entry->version == version ||
	       (entry->keeps && entry->version >= owner->since &&
		version + 1 == owner->settled);
}

static bool is_same_entry(const struct node *owner, const struct entry *a,
			  const struct entry *b)
{
	return a->node.view == b->node.view && a->node.kind == b->node.kind &&
	       a->node.child == b->node.child &&
	       a->node.index == b->node.index &&
	       goes_on(owner, a, b->version);
}

/* Whether it is a directory never changes, and is read without the lock. */
static void set_sizes(struct node *node, const struct bloscfs_attr *attr)
{
	node->entry.attr.size = attr->size;
	node->entry.attr.stored = attr->stored;
}

int tree_enter_entry(struct tree *tree, struct node *parent,
		     const char *name, const struct entry *entry,
		     uint64_t *ret_id, uint64_t *ret_ino)
{
	const struct node *owner = tree_owner(parent);
	struct node *node;
	int status = -ENOMEM;

	pthread_mutex_lock(&tree->lock);
	if (owner->version != entry->version) {
		pthread_mutex_unlock(&tree->lock);
		return -ESTALE;
	}
	node = find_name(tree, parent, name);
	if (node && !is_same_entry(owner, &node->entry, entry)) {
		unhash_node(tree, node);
		node = NULL;
	}
	if (node) {
		node->n_lookups++;
		set_sizes(node, &entry->attr);
	} else {
		node = add_node(tree, parent, name, NODE_ENTRY);
		if (node) {
			node->entry = *entry;
			node->st_ino = tree_ino(&owner->st, NODE_ENTRY,
						entry->number);
		}
	}
	if (node) {
		*ret_id = node->id;
		*ret_ino = node->st_ino;
		status = 0;
	}
	pthread_mutex_unlock(&tree->lock);
	return status;
}

bool tree_is_control(const struct node *parent, const char *name)
{
	return !parent->parent && strcmp(name, CONTROL_NAME) == 0;
}

/* Numbers as of a source's entry that cannot be. */
uint64_t tree_control_ino(uint32_t file)
{
	static const struct src_stat nowhere = { .dev = UINT64_MAX,
						 .ino = UINT64_MAX };

	return tree_ino(&nowhere, NODE_CONTROL, file);
}

/* With the lock held. */
static struct node *enter_control(struct tree *tree, struct node *parent,
				  const char *name,
				  const struct control *control)
{
	bool folder = control->file == CONTROL_FOLDER;
	struct node *node = folder ? find_name(tree, parent, name) : NULL;

	if (node) {
		node->n_lookups++;
		return node;
	}
	if (control->len > MAX_CONTROL - tree->control_len)
		return NULL;
	node = folder ? add_node(tree, parent, name, NODE_CONTROL) :
			add_nameless(tree, parent, name, NODE_CONTROL);
	if (node) {
		node->control = *control;
		node->st_ino = tree_control_ino(control->file);
		tree->control_len += control->len;
	}
	return node;
}

int tree_enter_control(struct tree *tree, struct node *parent,
		       const char *name, const struct control *control,
		       uint64_t *ret_id)
{
	struct node *node;

	pthread_mutex_lock(&tree->lock);
	node = enter_control(tree, parent, name, control);
	if (node)
		*ret_id = node->id;
	pthread_mutex_unlock(&tree->lock);
	if (!node)
		free(control->text);
	return node ? 0 : -ENOMEM;
}

void tree_count(struct tree *tree, uint64_t *ret_nodes,
		uint64_t *ret_open, uint64_t *ret_idle)
{
	pthread_mutex_lock(&tree->lock);
	*ret_nodes = tree->n_nodes;
	*ret_open = tree->n_containers;
	*ret_idle = tree->n_idle;
	pthread_mutex_unlock(&tree->lock);
}

void tree_drop(struct tree *tree, struct node *parent, const char *name)
{
	struct container *closing = NULL;
	struct node *node;

	pthread_mutex_lock(&tree->lock);
	node = find_name(tree, parent, name);
	if (node)
		leave_node(tree, node, &closing);
	pthread_mutex_unlock(&tree->lock);
	containers_close(closing);
}

struct node *tree_owner(struct node *node)
{
	while (node->kind == NODE_ENTRY)
		node = node->parent;
	return node;
}

void tree_stat(struct tree *tree, struct node *node, struct src_stat *ret_st,
	       uint64_t *ret_ino, bool *ret_open)
{
	const struct node *source = tree_owner(node);

	pthread_mutex_lock(&tree->lock);
	*ret_st = source->st;
	*ret_ino = node->st_ino;
	*ret_open = node->n_opens > 0;
	pthread_mutex_unlock(&tree->lock);
}

bool tree_is_current(struct tree *tree, struct node *entry)
{
	const struct node *owner = tree_owner(entry);
	bool current;

	pthread_mutex_lock(&tree->lock);
	current = owner->version == entry->entry.version;
	pthread_mutex_unlock(&tree->lock);
	return current;
}

struct bloscfs_attr tree_entry_attr(struct tree *tree, struct node *entry)
{
	struct bloscfs_attr attr;

	pthread_mutex_lock(&tree->lock);
	attr = entry->entry.attr;
	pthread_mutex_unlock(&tree->lock);
	return attr;
}

void tree_note_attr(struct tree *tree, struct node *entry,
		    const struct bloscfs_attr *attr)
{
	pthread_mutex_lock(&tree->lock);
	set_sizes(entry, attr);
	pthread_mutex_unlock(&tree->lock);
}

bool tree_holds(struct tree *tree, struct node *entry,
		const struct container *container)
{
	bool holds;

	pthread_mutex_lock(&tree->lock);
	holds = goes_on(tree_owner(entry), &entry->entry, container->version);
	pthread_mutex_unlock(&tree->lock);
	return holds;
}

bool tree_note_entry(struct tree *tree, struct node *entry, uint32_t version)
{
	bool same;

	pthread_mutex_lock(&tree->lock);
	same = entry->opened == 0 || entry->opened == version + 1;
	entry->opened = version + 1;
	pthread_mutex_unlock(&tree->lock);
	return same;
}
