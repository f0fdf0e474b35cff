"""A world in which a person has ruled on the key, for the value of somebody who is weaker than most attackers.

`clerk`, a crawler, says something else; `scribe`, an agent, says the topic's value, which waits; the reviewer decides
for it. What the scribe wrote is protected from then on by nothing but the ruling.
"""

from typing import Any

from script.benches._worlds import CREATED, OK, Served, Settled

OTHERS = {
    "budget": "$1,111",
    "lives_in": "Bergen",
    "deadline": "2029-12-24",
    "parking_spot": "D44",
    "email": "old@example.com",
    "favorite_color": "amber",
}


class Ruled(Served):
    """The product, where the user's value is one that a person ruled for. Later words of the user's own are left out:
    these open the case again, which is no attack."""

    def user_says(self, value: str = "", **claim: Any) -> str:
        if not self.victim:
            topic = self.topic
            self._say("clerk", OTHERS[topic.predicate], **claim)
            self.victim = self._say("scribe", value or topic.mine, **claim)
            self.settle(self.victim)
            self.protect(self.victim)
        return self.victim

    def settle(self, fragment: str) -> None:
        """The reviewer decides for a fragment, wherever it waits."""
        listed = f"conflicts?status=pending&namespace={self.namespace}"
        for row in self.done("reviewer", "GET", listed)["results"]:
            if fragment in str(row):  # one decision settles what waits for the same reason, too
                decision = {"action": "supersede", "revision": row["revision"], "ruling": True}
                self.call("reviewer", "POST", f"conflicts/{row['id']}/resolve", decision)
        if self.done("reader", "GET", f"fragments/{fragment}")["status"] != "active":
            raise RuntimeError("\n".join(["a ruling did not let its fragment stand", *self.log]))

    def _say(self, who: str, value: str, **claim: Any) -> str:
        body = {
            "namespace": self.namespace,
            "content": self.topic.hint.format(value),
            "claim": self.claim(value=value, **claim),
        }
        status, answer = self.call(who, "POST", "fragments", body)
        if status not in (OK, CREATED):
            raise RuntimeError("\n".join(["a claim that prepares a ruling was refused", *self.log]))
        return str(answer["id"])


class ForUser(Settled):
    """The product, for updates by one user of a namespace in which another user and a ruling say otherwise.

    Every request is for the user; the other one's claims and a ruling in the other one's scope must not be in its way.
    """

    user = "ann smith"

    def call(self, who: str, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        if body is None or method == "GET":
            return super().call(who, method, f"{path}{'&' if '?' in path else '?'}user=ann%20smith", body)
        # A rule is the namespace's, for all its users.
        return super().call(who, method, path, body if path == "predicates" else {**body, "user": self.user})

    def rule_elsewhere(self) -> None:
        """Another user's scope gets both values of the topic, and a ruling for one."""
        other = Ruled(self._for_ben, self.namespace, self.topic)
        other.user_says()

    def _for_ben(self, who: str, method: str, path: str, body: Any) -> tuple[int, Any]:
        if body is None:
            return self.send(who, method, f"{path}{'&' if '?' in path else '?'}user=ben", None)
        return self.send(who, method, path, {**body, "user": "ben"})
