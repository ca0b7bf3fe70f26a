//===- Env.h - Every environment variable that the runtime reads or sets --===//
#ifndef ZERO_RUNTIME_BASE_ENV_H
#define ZERO_RUNTIME_BASE_ENV_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace zero::env {

/// Whether mpirun (or another launcher of MPI programs) started this process.
bool startedByMpirun();
/// The rank that the launcher gave this process; 0 where none did.
unsigned launchedRank();
/// To be called before MPI starts. Where all ranks of the job are on this machine, OpenMPI takes messages of its own (OMPI_MCA_pml=ob1) at once,
/// unless the user has chosen; it looks for no networks, of which its libraries know so many that this takes 0.2 s.
void chooseMessagesWithinMachine();
/// Whether no lower rank was started by the same command of one mpirun (`mpirun -n 2 A : -n 1 B` starts two): where ranks cannot agree
/// yet on who speaks, it is this one.
bool isFirstOfItsCommand();
/// ZERO_TEST_DELAY_SEED: where set and not 0, every command of every rank starts late by times that the number decides. Default 0:
/// no delays. For tests of the order that a plan's events give.
uint64_t testDelaySeed();
/// ZERO_CUDA_LIBRARY_PATH: the folder that the driver and the libraries of CUDA are loaded from. Default empty: where the system looks.
std::string cudaLibraryPath();
/// The launched rank of a process with these variables ("A=1\0B=2\0", as /proc gives them); nothing where no launcher gave one.
std::optional<unsigned> launchedRank(std::string_view variables);

} // namespace zero::env

#endif
