"""Races of streaming candidates through real sockets: what losing one means for the loser."""

import json
import statistics
import threading
import time
import unittest

from harness import DEADLINE, DONE, SANITIZED, TestCase, begin_stream, end_stream, event, send_chunk

RACE = "hedging: {enabled: true, delay: 100ms}\nresilience: {circuit_breaker: {failure_threshold: 1}}"
CLIENTS = 8
ROUNDS = 10 if SANITIZED else 25


class Losers(TestCase):
    def test_F029_F115_a_loser_is_closed_at_the_winners_first_byte_and_charged_nothing(self):
        """Races that the first provider loses. The winner says no second word before the loser is gone."""
        gone = {"%d-%d" % (client, number): threading.Event() for client in range(CLIENTS) for number in range(ROUNDS)}
        spoke, outlived, early = {}, [], []

        def loser(conn, seen, number):
            user = json.loads(seen.body)["user"]
            try:
                begin_stream(conn)
                conn.recv(1)
            except OSError:
                pass  # closed with its head unread: a reset
            if user in spoke:
                outlived.append(time.monotonic() - spoke[user])
            else:
                early.append(user)
            gone[user].set()
            return False

        def winner(conn, seen, number):
            user = json.loads(seen.body)["user"]
            begin_stream(conn)
            spoke[user] = time.monotonic()
            send_chunk(conn, event("won"))
            if not gone[user].wait(DEADLINE):
                return False
            send_chunk(conn, DONE)
            return end_stream(conn)

        hoteld, (first, second) = self.group(loser, winner, extra=RACE)
        wrong = []

        def ask(client_number):
            for number in range(ROUNDS):
                body = {"model": "hotel/demo", "messages": [], "stream": True, "user": "%d-%d" % (client_number, number)}
                try:
                    got = hoteld.chat(body)
                    if got.status != 200 or b"won" not in got.body or not got.body.endswith(DONE):
                        wrong.append(got.body)
                except (OSError, AssertionError) as error:
                    wrong.append(error)

        clients = [threading.Thread(target=ask, args=(n,)) for n in range(CLIENTS)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        self.assertEqual((wrong, early), ([], []))
        outlived.sort()
        print("\nlosers outlive the winner's first byte by %.1f ms, the longest by %.1f ms"
              % (statistics.median(outlived) * 1000, outlived[-1] * 1000))
        # Lost races with a threshold of one, and nobody is skipped.
        self.assertEqual((len(first.seen), len(second.seen)), (CLIENTS * ROUNDS, CLIENTS * ROUNDS))
        self.assertNotIn("circuit_breaker.open", hoteld.stderr())


if __name__ == "__main__":
    unittest.main()
