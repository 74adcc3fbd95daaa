#!/usr/bin/env python3
"""Ranks on two hosts find each other, whatever their names mean where. The hosts are network namespaces with a wire between them, so this
needs root. Takes the path of rank-program."""

import os
import pathlib
import shutil
import socket
import subprocess
import sys
import threading
import time
import unittest

PORT = "29500"
LIMIT_S = 40
ADDRESSES = {"a": "10.77.0.1", "b": "10.77.0.2"}
CARDS = {"a": "eth0", "b": "ens3"}


def ip(*words):
    subprocess.run(["ip", *words], check=True)


def space(host):
    return f"tutti-{os.getpid()}-{host}"


def folder(host):
    return pathlib.Path("/etc/netns") / space(host)


def link_local(host):
    said = subprocess.run(["ip", "-n", space(host), "-6", "-o", "address", "show", "dev", CARDS[host], "scope", "link"], check=True, text=True,
                          capture_output=True).stdout
    return said.split()[3].split("/")[0]


def set_names(host, *lines):
    """What the hosts file of a host says; every host's own name is 127.0.1.1, as on Debian."""
    (folder(host) / "hosts").write_text("\n".join(["127.0.0.1 localhost", f"127.0.1.1 node{host}", *lines, ""]))


def set_ports(host, first, last):
    """From which the system chooses where it was not told one."""
    ip("netns", "exec", space(host), "sysctl", "-qw", f"net.ipv4.ip_local_port_range={first} {last}")


class TwoHosts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        for host in "ab":
            folder(host).mkdir(parents=True)
            ip("netns", "add", space(host))
        # Made in one of them: outside their names would be taken.
        ip("-n", space("a"), "link", "add", CARDS["a"], "type", "veth", "peer", "name", CARDS["b"], "netns", space("b"))
        for host in "ab":
            ip("-n", space(host), "address", "add", ADDRESSES[host] + "/24", "dev", CARDS[host])
            ip("-n", space(host), "link", "set", "lo", "up")
            ip("-n", space(host), "link", "set", CARDS[host], "up")
        ip("-n", space("b"), "address", "add", "10.77.0.3/24", "dev", CARDS["b"])
        time.sleep(2)  # until the addresses that are local to the link can be used

    @classmethod
    def tearDownClass(cls):
        for host in "ab":
            subprocess.run(["ip", "netns", "delete", space(host)], check=False)
            shutil.rmtree(folder(host))

    def setUp(self):
        self.begin = time.monotonic()
        set_names("a")
        set_names("b", "10.77.0.1 nodea")

    def start(self, host, rank, size=2, **more):
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("TUTTI_", "OMPI_", "PMI_", "SLURM_"))}
        environment |= {"RANK": str(rank), "WORLD_SIZE": str(size), "MASTER_ADDR": "nodea", "MASTER_PORT": PORT, **more}
        started = subprocess.Popen(["ip", "netns", "exec", space(host), PROGRAM, "hosts"], env=environment, text=True, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        self.addCleanup(self.end, started)
        return started

    @staticmethod
    def end(started):
        started.kill()
        started.communicate()

    def expect_all(self, ranks, way="tcp"):
        for rank in ranks:
            out, err = rank.communicate(timeout=LIMIT_S)
            self.assertEqual((rank.returncode, err), (0, ""))
            self.assertIn(way, out)

    def test_rank_0_does_not_ask_what_its_own_name_means(self):
        self.expect_all([self.start("a", 0), self.start("b", 1)])
        self.assertLess(time.monotonic() - self.begin, 10)

    def test_ranks_beside_rank_0_are_reached_from_the_other_host(self):
        for told in ({}, {"LOCAL_WORLD_SIZE": "2"}):
            ranks = [self.start("a", 0, 4, **told), self.start("a", 1, 4, **told), self.start("b", 2, 4, **told), self.start("b", 3, 4, **told)]
            self.expect_all(ranks, "shm")

    def test_ranks_of_one_host_that_do_not_know_it_meet(self):
        self.expect_all([self.start("a", 0), self.start("a", 1)], "shm")

    def test_a_name_may_appear_late(self):
        set_names("b")
        ranks = [self.start("a", 0), self.start("b", 1)]
        time.sleep(2)
        set_names("b", "10.77.0.1 nodea")
        self.expect_all(ranks)

    def test_a_name_may_change_its_meaning(self):
        set_names("b", "10.77.0.99 nodea")  # which does not answer
        ranks = [self.start("a", 0), self.start("b", 1)]
        time.sleep(2)
        set_names("b", "10.77.0.1 nodea")
        self.expect_all(ranks)
        self.assertLess(time.monotonic() - self.begin, 15)

    def test_the_first_of_several_addresses_may_be_dead(self):
        set_names("b", "10.77.0.99 nodea", "10.77.0.1 nodea")
        self.expect_all([self.start("a", 0), self.start("b", 1)])
        self.assertLess(time.monotonic() - self.begin, 15)

    def test_an_address_that_is_local_to_the_link_has_another_zone_on_each_host(self):
        there = link_local("a")
        self.expect_all([self.start("a", 0, MASTER_ADDR=f"{there}%{CARDS['a']}"), self.start("b", 1, MASTER_ADDR=f"{there}%{CARDS['b']}")])
        self.assertLess(time.monotonic() - self.begin, 10)

    def test_an_address_without_its_zone_is_refused_at_once(self):
        rank = self.start("b", 1, MASTER_ADDR=link_local("a"))
        _, err = rank.communicate(timeout=LIMIT_S)
        self.assertEqual(rank.returncode, 2)
        self.assertIn("needs an interface of this host", err)
        self.assertLess(time.monotonic() - self.begin, 5)

    def test_the_master_address_may_be_that_of_a_gateway(self):
        relay = subprocess.Popen(["ip", "netns", "exec", space("b"), sys.executable, __file__, "relay", "10.77.0.3", "10.77.0.1", PORT])
        try:
            self.expect_all([self.start("a", 0, MASTER_ADDR="10.77.0.3"), self.start("b", 1, MASTER_ADDR="10.77.0.3")])
        finally:
            relay.kill()
            relay.wait()

    def test_one_run_may_follow_another_at_the_same_port(self):
        for _ in range(3):
            self.expect_all([self.start("a", 0), self.start("b", 1)])

    def test_a_rank_that_meets_itself_at_the_port_of_the_store_tries_again_and_keeps_rank_0_from_nothing(self):
        set_ports("a", PORT, PORT)  # the system has no other to choose from
        try:
            second = self.start("a", 1, MASTER_ADDR="127.0.0.1")
            time.sleep(2)
        finally:
            set_ports("a", 32768, 60999)
        self.expect_all([self.start("a", 0, MASTER_ADDR="127.0.0.1"), second], "shm")
        self.assertLess(time.monotonic() - self.begin, 20)


def relay(here, there, port):
    """Passes on what comes to one address to another one."""
    door = socket.create_server((here, int(port)))

    def pump(source, target):
        while piece := source.recv(65536):
            target.sendall(piece)
        target.shutdown(socket.SHUT_WR)

    while True:
        near, _ = door.accept()
        for tries in range(100):
            try:
                far = socket.create_connection((there, int(port)))
                break
            except OSError:
                time.sleep(0.1)
        for source, target in ((near, far), (far, near)):
            threading.Thread(target=pump, args=(source, target), daemon=True).start()


def can_make_hosts():
    if os.geteuid() != 0 or shutil.which("ip") is None:
        return False
    name = f"tutti-{os.getpid()}-try"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False).returncode == 0
    subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)
    return made


if __name__ == "__main__":
    if sys.argv[1] == "relay":
        relay(*sys.argv[2:])
    PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()
    if not can_make_hosts():
        print("skipped: two hosts on one need network namespaces, and those need root")
        sys.exit(77)
    unittest.main(verbosity=2)
