// Parts of the programs here; each is compiled as it would be in a program of its own.
#pragma once

/// Makes a context of Tutti's, sums and closes.
bool tutti_works();
/// Runs timers and sockets of an Asio that this program has besides, which may be of another version or configuration than Tutti's.
bool own_asio_works();
