/* The floor: what it costs SQLite to step the rows that the analysis needs, computing nothing.
 * Build: cc -O2 -o floor floor.c -lsqlite3      Run: ./floor TRACE.sqlite
 */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

static const char *queries[] = {
    "SELECT start, end, deviceId, streamId, globalPid, shortName FROM CUPTI_ACTIVITY_KIND_KERNEL",
    "SELECT start, end, globalTid, nameId, returnValue FROM CUPTI_ACTIVITY_KIND_RUNTIME",
    "SELECT start, end, deviceId, bytes, copyKind FROM CUPTI_ACTIVITY_KIND_MEMCPY",
    "SELECT start, deviceId, bytes, memKind, memoryOperationType FROM CUDA_GPU_MEMORY_USAGE_EVENTS",
};

int main(int argc, char **argv) {
    sqlite3 *db = NULL;
    unsigned long long sum = 0, rows = 0;
    if (argc != 2 || sqlite3_open_v2(argv[1], &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK) {
        fprintf(stderr, "usage: floor TRACE.sqlite\n");
        return 2;
    }
    for (size_t q = 0; q < sizeof queries / sizeof *queries; q++) {
        sqlite3_stmt *step = NULL;
        if (sqlite3_prepare_v2(db, queries[q], -1, &step, NULL) != SQLITE_OK) {
            fprintf(stderr, "%s\n", sqlite3_errmsg(db));
            continue; /* a trace without this table: nothing to step */
        }
        const int width = sqlite3_column_count(step);
        while (sqlite3_step(step) == SQLITE_ROW) {
            rows++;
            for (int c = 0; c < width; c++) sum += (unsigned long long)sqlite3_column_int64(step, c);
        }
        sqlite3_finalize(step);
    }
    printf("%llu rows, sum %llu\n", rows, sum);
    sqlite3_close(db);
    return 0;
}
