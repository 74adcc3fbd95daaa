/* What main.cpp measures, by an MPI library: MPI_Comm_dup and MPI_Comm_free. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static double us_since(double began, int count) { return (MPI_Wtime() - began) * 1e6 / count; }

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int count = argc > 1 ? atoi(argv[1]) : 1000;
    MPI_Comm* const children = malloc(sizeof(MPI_Comm) * (size_t)count);
    MPI_Barrier(MPI_COMM_WORLD);
    double began = MPI_Wtime();
    for (int each = 0; each < count; ++each) {
        MPI_Comm_dup(MPI_COMM_WORLD, &children[0]);
        MPI_Comm_free(&children[0]);
    }
    const double pair_us = us_since(began, count);
    began = MPI_Wtime();
    for (int each = 0; each < count; ++each) MPI_Comm_dup(MPI_COMM_WORLD, &children[each]);
    const double dup_us = us_since(began, count);
    for (int each = 0; each < count; ++each) {
        int ones[10] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
        MPI_Allreduce(MPI_IN_PLACE, ones, 10, MPI_INT, MPI_SUM, children[each]);
    }
    began = MPI_Wtime();
    for (int each = 0; each < count; ++each) MPI_Comm_free(&children[each]);
    if (rank == 0) printf("%-14s %5d %8d %13.1f %9.1f %9.1f\n", argv[2], size, count, pair_us, dup_us, us_since(began, count));
    free(children);
    MPI_Finalize();
    return 0;
}
