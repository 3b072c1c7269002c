/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libc_holds [NAME]: calls a function of the C library that keeps memory until the process ends,
 * and leaks nothing itself. Without a name all of them, each in a process of its own, and tells
 * their pids. Memcheck has the C library free such memory before it looks (__libc_freeres).
 */
#include "tests/targets/target.h"

#include <dlfcn.h>
#include <fstab.h>
#include <grp.h>
#include <iconv.h>
#include <libintl.h>
#include <locale.h>
#include <mntent.h>
#include <netdb.h>
#include <pthread.h>
#include <pwd.h>
#include <search.h>
#include <shadow.h>
#include <string.h>
#include <sys/wait.h>
#include <syslog.h>
#include <time.h>
#include <utmp.h>
#include <wchar.h>

static void text_domain(void)
{
	CHECK(textdomain("memtraced-test"));
	CHECK(bindtextdomain("memtraced-test", "/nonexistent/locale"));
	CHECK(bind_textdomain_codeset("memtraced-test", "UTF-8"));
	CHECK(gettext("a message"));
	CHECK(dgettext("memtraced-other", "a message"));
}

static void messages_of_a_locale(void)
{
	setlocale(LC_ALL, "C.UTF-8");
	setenv("LANGUAGE", "de:fr", 1);
	text_domain();
}

static void user_by_name(void)
{
	CHECK(getpwnam("root"));
}

static void user_by_number(void)
{
	CHECK(getpwuid(0));
}

static void all_users(void)
{
	setpwent();
	while (getpwent())
		continue;
	endpwent();
}

static void groups(void)
{
	CHECK(getgrnam("root"));
	CHECK(getgrgid(0));
	setgrent();
	while (getgrent())
		continue;
	endgrent();
}

static void shadow(void)
{
	(void)getspnam("root");
}

static void addresses(void)
{
	struct addrinfo *found;

	if (getaddrinfo("localhost", "80", NULL, &found) == 0)
		freeaddrinfo(found);
}

static void addresses_unknown(void)
{
	struct addrinfo *found;

	CHECK(getaddrinfo("host.invalid", NULL, NULL, &found) != 0);
}

static void hosts(void)
{
	(void)gethostbyname("localhost");
	(void)gethostbyaddr("\x7f\0\0\1", 4, 2);
	sethostent(1);
	while (gethostent())
		continue;
	endhostent();
}

static void services(void)
{
	(void)getservbyname("http", "tcp");
	(void)getservbyport(0x5000, "tcp");
	(void)getprotobyname("tcp");
	(void)getnetbyname("loopback");
	while (getservent())
		continue;
	endservent();
}

static void hash_table(void)
{
	ENTRY entry = { .key = (char *)"key" };

	CHECK(hcreate(30));
	CHECK(hsearch(entry, ENTER));
}

static void *exits(void *unused)
{
	(void)unused;
	pthread_exit(NULL);
}

static void thread_exit(void)
{
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, exits, NULL));
	CHECK(!pthread_join(thread, NULL));
}

static void *waits(void *unused)
{
	(void)unused;
	while (pause())
		continue;
	return NULL;
}

static void thread_cancelled(void)
{
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, waits, NULL));
	CHECK(!pthread_cancel(thread));
	CHECK(!pthread_join(thread, NULL));
}

static void locale_of_environment(void)
{
	setlocale(LC_ALL, "");
	setlocale(LC_ALL, "C.UTF-8");
	(void)localeconv();
}

/* Its data stays when it is freed. */
static void locale_of_its_own(void)
{
	locale_t locale = newlocale(LC_ALL_MASK, "C.UTF-8", (locale_t)0);

	CHECK(locale);
	freelocale(locale);
}

static void conversion(void)
{
	iconv_t conversion = iconv_open("UTF-16", "ISO-8859-15");

	CHECK(conversion != (iconv_t)-1);
	CHECK(!iconv_close(conversion));
}

static void wide_characters(void)
{
	wchar_t text[8];

	setlocale(LC_ALL, "C.UTF-8");
	CHECK(mbstowcs(text, "abc", 8) == 3);
	CHECK(fwide(stdout, 1) > 0);
	CHECK(wprintf(L"%ls\n", text) > 0);
}

static void time_zone(void)
{
	time_t now = 0;
	struct tm broken;

	setenv("TZ", "Europe/Berlin", 1);
	tzset();
	CHECK(localtime(&now));
	CHECK(strptime("2020", "%Y", &broken));
}

static void log_to_system(void)
{
	openlog("memtraced-test", LOG_NDELAY, LOG_USER);
}

static void mounts(void)
{
	FILE *file = setmntent("/proc/self/mounts", "re");

	CHECK(file && getmntent(file));
	CHECK(endmntent(file));
	(void)getfsent();
	endfsent();
}

static void logins(void)
{
	setutent();
	(void)getutent();
	endutent();
	(void)getlogin();
}

static void messages_of_errors(void)
{
	CHECK(strerror(98765));
	CHECK(strsignal(9876));
	CHECK(!dlopen("/nonexistent/library.so", RTLD_NOW));
	CHECK(dlerror());
}

static void library(void)
{
	void *loaded = dlopen("libm.so.6", RTLD_NOW);

	CHECK(loaded && !dlclose(loaded));
}

static void nothing(void)
{
}

static void handlers_at_exit(void)
{
	for (int i = 0; i < 100; i++)
		CHECK(!atexit(nothing));
}

static void environment(void)
{
	CHECK(!setenv("MEMTRACED_A", "1", 1));
	CHECK(!setenv("MEMTRACED_A", "another", 1));
	CHECK(!unsetenv("MEMTRACED_A"));
}

static void streams(void)
{
	CHECK(setvbuf(stdout, NULL, _IOFBF, 4096) == 0);
	CHECK(puts("buffered") >= 0);
	(void)getchar();
}

static const struct {
	const char *name;
	void (*call)(void);
} cases[] = {
	{ "text_domain", text_domain },
	{ "messages_of_a_locale", messages_of_a_locale },
	{ "user_by_name", user_by_name },
	{ "user_by_number", user_by_number },
	{ "all_users", all_users },
	{ "groups", groups },
	{ "shadow", shadow },
	{ "addresses", addresses },
	{ "addresses_unknown", addresses_unknown },
	{ "hosts", hosts },
	{ "services", services },
	{ "hash_table", hash_table },
	{ "thread_exit", thread_exit },
	{ "thread_cancelled", thread_cancelled },
	{ "locale_of_environment", locale_of_environment },
	{ "locale_of_its_own", locale_of_its_own },
	{ "conversion", conversion },
	{ "wide_characters", wide_characters },
	{ "time_zone", time_zone },
	{ "log_to_system", log_to_system },
	{ "mounts", mounts },
	{ "logins", logins },
	{ "messages_of_errors", messages_of_errors },
	{ "library", library },
	{ "handlers_at_exit", handlers_at_exit },
	{ "environment", environment },
	{ "streams", streams },
};

static void run_all(const char *program)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (pid == 0) {
			execl(program, program, cases[i].name, NULL);
			_exit(97);
		}
		tell("%s %d\n", cases[i].name, (int)pid);
		CHECK(waitpid(pid, NULL, 0) == pid);
	}
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		run_all(argv[0]);
		return 0;
	}
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (!strcmp(argv[1], cases[i].name))
			cases[i].call();
	return 0;
}
