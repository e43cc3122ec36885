/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * keys.c - keys, region and endpoint for S3.
 *
 * The files are INI: sections in brackets, name = value, comments from # or ;
 * at the start of a line. In config a profile's section is "profile NAME",
 * but for "default".
 */
#include "remote/keys.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_CAP 4096
#define MOST_LINES 100000

/* What the files say of one profile, the first of each. */
struct profile {
	char *id, *secret, *token, *region, *endpoint, *process;
};

static char **field_of(struct profile *p, const char *name)
{
	static const struct {
		const char *name;
		size_t where;
	} fields[] = {
		{ "aws_access_key_id", offsetof(struct profile, id) },
		{ "aws_secret_access_key", offsetof(struct profile, secret) },
		{ "aws_session_token", offsetof(struct profile, token) },
		{ "region", offsetof(struct profile, region) },
		{ "endpoint_url", offsetof(struct profile, endpoint) },
		{ "credential_process", offsetof(struct profile, process) },
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (strcmp(name, fields[i].name) == 0)
			return (char **)((char *)p + fields[i].where);
	}
	return NULL;
}

static void forget(char **text)
{
	if (*text)
		explicit_bzero(*text, strlen(*text));
	free(*text);
	*text = NULL;
}

static void release_profile(struct profile *p)
{
	forget(&p->id);
	forget(&p->secret);
	forget(&p->token);
	forget(&p->region);
	forget(&p->endpoint);
	forget(&p->process);
}

static char *trim(char *text)
{
	size_t len;

	while (isspace((unsigned char)*text))
		text++;
	len = strlen(text);
	while (len > 0 && isspace((unsigned char)text[len - 1]))
		text[--len] = '\0';
	return text;
}

/* "[profile NAME]" or "[NAME]", as text between the brackets. */
static bool is_section(char *text, const char *profile)
{
	char *name = trim(text);

	if (strncmp(name, "profile ", 8) == 0)
		name = trim(name + 8);
	return strcmp(name, profile) == 0;
}

static int take_line(char *line, const char *profile, bool *inside,
		     struct profile *p)
{
	char *text = trim(line), *equals, *end, **field;

	/* What is set in by blanks belongs to the setting above it. */
	if (text != line || *text == '#' || *text == ';' || !*text)
		return 0;
	if (*text == '[') {
		end = strchr(text, ']');
		if (end)
			*end = '\0';
		*inside = end && is_section(text + 1, profile);
		return 0;
	}
	equals = strchr(text, '=');
	if (!*inside || !equals)
		return 0;
	*equals = '\0';
	field = field_of(p, trim(text));
	if (!field || *field)
		return 0;
	*field = strdup(trim(equals + 1));
	return *field ? 0 : -ENOMEM;
}

/* A file that is not there says nothing. */
static int read_file(const char *path, const char *profile,
		     struct profile *p)
{
	FILE *file = path ? fopen(path, "re") : NULL;
	char line[LINE_CAP];
	bool inside = false;
	int status = 0;

	if (!file)
		return 0;
	for (int i = 0; !status && i < MOST_LINES &&
			fgets(line, sizeof(line), file); i++)
		status = take_line(line, profile, &inside, p);
	explicit_bzero(line, sizeof(line));
	fclose(file);
	return status;
}

static char *path_of(const char *variable, const char *name)
{
	const char *given = getenv(variable), *home = getenv("HOME");
	char *path = NULL;

	if (given && *given)
		return strdup(given);
	if (!home || asprintf(&path, "%s/.aws/%s", home, name) < 0)
		return NULL;
	return path;
}

static const char *env(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

static int put(char **to, const char *text)
{
	if (!text)
		return 0;
	*to = strdup(text);
	return *to ? 0 : -ENOMEM;
}

/* Keys come whole from one place: an identity of one with a secret of
 * another would be nobody's. */
static int choose(const struct profile *p, struct s3_setup *setup)
{
	const char *id = env("AWS_ACCESS_KEY_ID");
	const char *secret = env("AWS_SECRET_ACCESS_KEY");
	const char *token = env("AWS_SESSION_TOKEN");
	const char *region = env("AWS_REGION");
	const char *endpoint = env("AWS_ENDPOINT_URL_S3");

	if (!id || !secret) {
		id = p->id;
		secret = p->secret;
		token = p->token;
	}
	if (!region)
		region = env("AWS_DEFAULT_REGION");
	if (!region)
		region = p->region ? p->region : "us-east-1";
	if (!endpoint)
		endpoint = env("AWS_ENDPOINT_URL");
	if (!endpoint)
		endpoint = p->endpoint;
	if (id && secret &&
	    (put(&setup->keys.id, id) || put(&setup->keys.secret, secret) ||
	     put(&setup->keys.token, token)))
		return -ENOMEM;
	return put(&setup->region, region) ||
	       put(&setup->endpoint, endpoint) ? -ENOMEM : 0;
}

int keys_find(struct s3_setup *ret_setup, char *error, size_t error_cap)
{
	const char *named = env("AWS_PROFILE");
	const char *profile = named ? named : "default";
	char *credentials = path_of("AWS_SHARED_CREDENTIALS_FILE",
				    "credentials");
	char *config = path_of("AWS_CONFIG_FILE", "config");
	struct s3_setup setup = { 0 };
	struct profile p = { 0 };
	int status = read_file(credentials, profile, &p);

	if (!status)
		status = read_file(config, profile, &p);
	if (!status)
		status = choose(&p, &setup);
	if (!status && setup.endpoint &&
	    (strncmp(setup.endpoint, "http://", 7) != 0 &&
	     strncmp(setup.endpoint, "https://", 8) != 0)) {
		snprintf(error, error_cap, "the endpoint of S3 is to begin "
			 "with https:// or http://");
		status = -EINVAL;
	}
	if (!status && !setup.keys.id && p.process && put(&setup.process,
							  p.process))
		status = -ENOMEM;
	free(credentials);
	free(config);
	release_profile(&p);
	if (status)
		keys_release(&setup);
	else
		*ret_setup = setup;
	return status;
}

void keys_release(struct s3_setup *setup)
{
	keys_forget(&setup->keys);
	forget(&setup->process);
	forget(&setup->region);
	forget(&setup->endpoint);
}
