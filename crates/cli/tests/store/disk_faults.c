// A disk that fails, for one process: a library that is loaded before the C library (LD_PRELOAD), and counts the
// changes of the files below FAULT_DIR. At change number FAULT_AT
//   FAULT_KIND=kill                  the process ends before the change, as at a loss of power
//   FAULT_KIND=eio, enospc           this change and the FAULT_FOR - 1 after it fail
//   FAULT_KIND=short                 half of what was to be written is written
// and FAULT_AFTER changes later the power is lost too. Then what was not synced is undone, newest first:
//   FAULT_LOSES=nothing              nothing, as when a process is killed
//   FAULT_LOSES=data                 bytes and lengths of files since their last fsync or fdatasync
//   FAULT_LOSES=all                  and names that were made, removed or renamed since the last fsync of their directory
//   FAULT_LOSES=torn                 the second half of the last write to each file
// A sync of a file is one of its name too if it was made under it, as on ext4, XFS and Btrfs (POSIX asks only for the
// bytes): the embedded tree does not sync the directory `blobs` after it has made a file there.
// If the file FAULT_POWER exists, each process that looks loses its power too; who is first makes it. FAULT_LIES=.jnl is a
// disk that says that files with such names are synced, and does not sync them. After a failed sync, what it should have synced is never synced.
// FAULT_LOG gets a line about the end.
//
// Not seen: made and removed directories, changes through mmap, copy_file_range, sendfile and fallocate, which the store
// does not make, and system calls without the C library. By strace those are the renames of `current` in each table of the
// embedded tree (the crate tempfile, through rustix), so that these are never undone; 665 other changes were all seen.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(name) *)real(#name))
static void *real(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (!found) abort();
    return found;
}

// What undoes a change, the newest first.
struct undo {
    enum { BYTES, MADE, REMOVED, RENAMED } what;
    int file, doomed;          // a descriptor of our own; whether no sync helps any more
    dev_t device;
    ino_t inode;
    off_t at, length;          // where bytes were, and how long the file was
    size_t old, size;          // how many bytes were there, and how many were written
    char *bytes;
    char path[PATH_MAX], other[PATH_MAX], kept[PATH_MAX];
    struct undo *next;
};

static const char *const WORDS[] = {"bytes of", "made", "removed", "renamed"};
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static struct undo *undos;
static long count, names;
static int is_on = -1;
static const char *directory, *kind, *loses, *power;
static long at, after, lasts;

static const char *word(const char *name, const char *otherwise) {
    const char *value = getenv(name);
    return value ? value : otherwise;
}

// The command that starts a daemon has the same environment, and is spared.
static int works(void) {
    if (is_on >= 0) return is_on;
    char line[512] = "";
    int file = REAL(open)("/proc/self/cmdline", O_RDONLY);
    ssize_t size = read(file, line, sizeof line - 1);
    close(file);
    for (ssize_t i = 0; i < size; i++) if (!line[i]) line[i] = ' ';
    directory = getenv("FAULT_DIR");
    kind = word("FAULT_KIND", "kill"), loses = word("FAULT_LOSES", "all"), power = getenv("FAULT_POWER");
    at = atol(word("FAULT_AT", "0")), after = atol(word("FAULT_AFTER", "0")), lasts = atol(word("FAULT_FOR", "1"));
    return is_on = directory && strstr(line, " daemon ");
}

static int is_below(const char *path) {
    size_t length = strlen(directory);
    return !strncmp(path, directory, length) && (path[length] == '/' || !path[length]);
}

static int is_ours(int file, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t size = readlink(link, path, PATH_MAX - 1);
    if (size < 0) return 0;
    path[size] = 0;
    return is_below(path);
}

static void absolute(const char *path, char *to) {
    if (path[0] == '/' || !getcwd(to, PATH_MAX)) { snprintf(to, PATH_MAX, "%s", path); return; }
    size_t length = strlen(to);
    snprintf(to + length, PATH_MAX - length, "/%s", path);
}

// The change of the same file that is not `it`, if there is one: they share a descriptor.
static struct undo *other_of(const struct undo *it) {
    struct undo *other = undos;
    while (other && (other == it || other->what != BYTES || other->inode != it->inode || other->device != it->device))
        other = other->next;
    return other;
}

static void drop(struct undo **place) {
    struct undo *it = *place;
    *place = it->next;
    if (it->what == BYTES && !other_of(it)) close(it->file);
    if (it->kept[0]) REAL(unlink)(it->kept);
    free(it->bytes);
    free(it);
}

static int was_torn(const struct undo *it) {
    for (struct undo *newer = undos; newer != it; newer = newer->next)
        if (newer->what == BYTES && newer->inode == it->inode && newer->device == it->device) return 1;
    return 0;
}

static void undo(struct undo *it) {
    if (it->what == BYTES) {
        size_t from = 0;
        if (!strcmp(loses, "torn")) {
            if (was_torn(it) || !it->size) return;
            from = it->size / 2;
        }
        if (it->old > from && REAL(pwrite)(it->file, it->bytes + from, it->old - from, it->at + from) < 0) abort();
        off_t end = it->at + (off_t)from;
        if (REAL(ftruncate)(it->file, from && end > it->length ? end : it->length)) abort();
    } else if (!strcmp(loses, "all")) {
        if (it->what == MADE) REAL(unlink)(it->path);
        if (it->what == RENAMED) REAL(rename)(it->other, it->path);
        const char *name = it->what == RENAMED ? it->other : it->path;
        if (it->kept[0]) REAL(rename)(it->kept, name), it->kept[0] = 0;
    }
}

static void lose_power(const char *what, const char *path) {
    if (power) close(REAL(open)(power, O_CREAT | O_WRONLY, 0600));
    int file = REAL(open)(word("FAULT_LOG", "/dev/null"), O_CREAT | O_APPEND | O_WRONLY, 0600);
    dprintf(file, "%d %s at %ld %s %s\n", getpid(), kind, count, what, path);
    if (strcmp(loses, "nothing"))
        for (struct undo *it = undos; it; it = it->next) {
            dprintf(file, "  %s %s %s\n", WORDS[it->what], it->path, it->other);
            undo(it);
        }
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

// Counts a change; whether it is to fail.
static int fails(const char *what, const char *path) {
    count++;
    if (power && !access(power, F_OK)) lose_power(what, path);
    if (!at || count < at) return 0;
    int is_kill = !strcmp(kind, "kill");
    if (is_kill || count >= at + after) lose_power(what, path);
    return count < at + lasts;
}

static int fault(void) {
    errno = !strcmp(kind, "enospc") ? ENOSPC : EIO;
    return -1;
}

static struct undo *push(int what, const char *path) {
    struct undo *it = calloc(1, sizeof *it);
    it->what = what;
    snprintf(it->path, sizeof it->path, "%s", path);
    it->next = undos;
    return undos = it;
}

// Notes what `size` bytes at `start` are before they are written; with `size` 0, before a file gets the length `start`.
static void note(int file, const char *path, off_t start, size_t size) {
    struct stat is;
    if (fstat(file, &is)) return;
    struct undo *it = push(BYTES, path);
    it->device = is.st_dev, it->inode = is.st_ino, it->at = start, it->size = size, it->length = is.st_size;
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    struct undo *other = other_of(it);
    it->file = other ? other->file : REAL(open)(link, O_RDWR | O_CLOEXEC);
    if (it->file < 0) abort();
    off_t end = size ? start + (off_t)size : is.st_size;
    if (end > is.st_size) end = is.st_size;
    if (end <= start) return;
    it->old = end - start, it->bytes = malloc(it->old);
    if (pread(it->file, it->bytes, it->old, start) != (ssize_t)it->old) abort();
}

static void keep(struct undo *it, const char *path) {
    snprintf(it->kept, sizeof it->kept, "%s.kept-%d-%ld", directory, getpid(), names++);
    if (link(path, it->kept)) it->kept[0] = 0;
}

static int is_in(const char *path, const char *folder) {
    size_t length = strlen(folder);
    return !strncmp(path, folder, length) && path[length] == '/' && !strchr(path + length + 1, '/');
}

static int synced(int file, const char *what, int (*sync)(int)) {
    char path[PATH_MAX];
    struct stat is;
    if (!works() || !is_ours(file, path) || fstat(file, &is)) return sync(file);
    pthread_mutex_lock(&lock);
    int is_bad = fails(what, path) && strcmp(kind, "short"), result = is_bad ? fault() : sync(file), error = errno;
    const char *lies = getenv("FAULT_LIES");
    for (struct undo **place = &undos; *place && !(lies && strstr(path, lies));) {
        struct undo *it = *place;
        int is_of = it->what == BYTES ? it->inode == is.st_ino && it->device == is.st_dev
                    : it->what == MADE && !strcmp(it->path, path) ? 1 : is_in(it->path, path);
        if (is_of && is_bad) it->doomed = 1;
        if (is_of && !it->doomed && !result) drop(place); else place = &it->next;
    }
    pthread_mutex_unlock(&lock);
    errno = error;
    return result;
}

int fsync(int file) { return synced(file, "fsync", REAL(fsync)); }
int fdatasync(int file) { return synced(file, "fdatasync", REAL(fdatasync)); }

// A write of `size` bytes, of which `put` writes as many as it is result; at the place of the file if `start` is -1.
#define WRITE(what, file, size, start, all, half) \
    char path[PATH_MAX]; \
    if (!works() || !is_ours(file, path)) return all; \
    pthread_mutex_lock(&lock); \
    ssize_t result; \
    off_t begin = start; \
    struct stat is; \
    if (begin < 0 && !fstat(file, &is)) begin = fcntl(file, F_GETFL) & O_APPEND ? is.st_size : lseek(file, 0, SEEK_CUR); \
    int is_bad = fails(what, path); \
    if (is_bad && strcmp(kind, "short")) result = fault(); \
    else { note(file, path, begin, size); result = is_bad && size > 1 ? half : all; } \
    int error = errno; \
    pthread_mutex_unlock(&lock); \
    errno = error; \
    return result;

ssize_t write(int file, const void *bytes, size_t size) {
    WRITE("write", file, size, -1, REAL(write)(file, bytes, size), REAL(write)(file, bytes, size / 2))
}

ssize_t pwrite64(int file, const void *bytes, size_t size, off64_t start) {
    WRITE("pwrite", file, size, start, REAL(pwrite64)(file, bytes, size, start),
          REAL(pwrite64)(file, bytes, size / 2, start))
}

ssize_t pwrite(int file, const void *bytes, size_t size, off_t start) { return pwrite64(file, bytes, size, start); }

ssize_t writev(int file, const struct iovec *parts, int number) {
    size_t size = 0;
    for (int i = 0; i < number; i++) size += parts[i].iov_len;
    WRITE("writev", file, size, -1, REAL(writev)(file, parts, number),
          REAL(write)(file, parts[0].iov_base, parts[0].iov_len / 2 + 1))
}

int ftruncate64(int file, off64_t length) {
    char path[PATH_MAX];
    if (!works() || !is_ours(file, path)) return REAL(ftruncate64)(file, length);
    pthread_mutex_lock(&lock);
    int result;
    if (fails("ftruncate", path) && strcmp(kind, "short")) result = fault();
    else { note(file, path, length, 0); result = REAL(ftruncate64)(file, length); }
    int error = errno;
    pthread_mutex_unlock(&lock);
    errno = error;
    return result;
}

int ftruncate(int file, off_t length) { return ftruncate64(file, length); }

int rename(const char *from, const char *to) {
    char path[PATH_MAX], other[PATH_MAX];
    if (!works()) return REAL(rename)(from, to);
    absolute(from, path), absolute(to, other);
    if (!is_below(path)) return REAL(rename)(from, to);
    pthread_mutex_lock(&lock);
    int result;
    if (fails("rename", other) && strcmp(kind, "short")) result = fault();
    else {
        struct undo *it = push(RENAMED, path);
        snprintf(it->other, sizeof it->other, "%s", other);
        keep(it, other);
        result = REAL(rename)(from, to);
        if (result) drop(&undos);
    }
    int error = errno;
    pthread_mutex_unlock(&lock);
    errno = error;
    return result;
}

int unlink(const char *name) {
    char path[PATH_MAX];
    if (!works()) return REAL(unlink)(name);
    absolute(name, path);
    if (!is_below(path)) return REAL(unlink)(name);
    pthread_mutex_lock(&lock);
    int result;
    if (fails("unlink", path) && strcmp(kind, "short")) result = fault();
    else {
        keep(push(REMOVED, path), path);
        result = REAL(unlink)(name);
        if (result) drop(&undos);
    }
    int error = errno;
    pthread_mutex_unlock(&lock);
    errno = error;
    return result;
}

int open64(const char *name, int flags, ...) {
    va_list more;
    va_start(more, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
    va_end(more);
    char path[PATH_MAX];
    if (!works()) return REAL(open64)(name, flags, mode);
    absolute(name, path);
    if (!is_below(path) || !(flags & (O_CREAT | O_TRUNC))) return REAL(open64)(name, flags, mode);
    pthread_mutex_lock(&lock);
    int is_new = access(path, F_OK), file;
    if (fails("open", path) && strcmp(kind, "short")) file = fault();
    else {
        file = REAL(open64)(name, flags & ~O_TRUNC, mode);
        if (file >= 0 && is_new) push(MADE, path);
        if (file >= 0 && flags & O_TRUNC) note(file, path, 0, 0), REAL(ftruncate)(file, 0);
    }
    int error = errno;
    pthread_mutex_unlock(&lock);
    errno = error;
    return file;
}

int open(const char *name, int flags, ...) {
    va_list more;
    va_start(more, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
    va_end(more);
    return open64(name, flags, mode);
}
