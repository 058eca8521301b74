"""Uses the client that openapi-python-client has generated: plain requests, a stream of server-sent events, the WebSocket.

Every message of a stream is read by the generated model of its type. A field that the model does not know, or that it requires
and does not get, is an error.
"""

import asyncio
import json
import os

import websockets
from foreword import models
from foreword.api.conversations import get_conversations_id_messages, post_conversations, post_conversations_id_messages
from foreword.api.layers import get_layers_id
from foreword.api.observing import get_status
from foreword.client import AuthenticatedClient
from foreword.types import UNSET

URL = os.environ["BASE_URL"]
TOKEN = os.environ["TOKEN"]


def known(model):
    """The model, if all fields of the message are its own."""
    assert not model.additional_properties, f"{type(model).__name__} has no {list(model.additional_properties)}"
    return model


def read(text, suffixes):
    """A message as the generated model of its type."""
    message = json.loads(text)
    words = "".join(word.capitalize() for word in message["type"].split("_"))
    for suffix in suffixes:
        if model := getattr(models, words + suffix, None):
            return known(model.from_dict(message))
    raise AssertionError(f"no model for {message}")


def begin(client):
    made = post_conversations.sync(client=client, body=models.NewConversation(title="generated"))
    assert isinstance(made, models.ConversationBody), made
    return made.id


def plain_requests(client):
    status = get_status.sync(client=client)
    assert isinstance(status, models.Status), status
    missing = get_layers_id.sync(client=client, id="no-such-layer")
    assert isinstance(missing, models.Problem) and missing.code == "not_found", missing
    conversation = begin(client)
    posted = post_conversations_id_messages.sync(conversation, client=client, body=models.NewMessage(text="!say Hello."))
    assert isinstance(posted, models.PostedMessage) and posted.outcome == "done", posted
    listed = get_conversations_id_messages.sync(conversation, client=client)
    assert len(listed.items) == 2, listed


def server_sent_events(client):
    conversation = begin(client)
    request = post_conversations_id_messages._get_kwargs(conversation, body=models.NewMessage(text=TOOL))
    request["headers"]["Accept"] = "text/event-stream"
    with client.get_httpx_client().stream(**request) as response:
        assert response.status_code == 200, response.status_code
        events = [read(line[6:], ["Event", "Reply"]) for line in response.iter_lines() if line.startswith("data: ")]
    check(events, conversation)


def check(events, conversation):
    kinds = [type(event).__name__ for event in events]
    assert kinds[0] == "AcceptedReply" and kinds[-1] == "TurnEndEvent", kinds
    for kind in ["TurnStartEvent", "ToolCallEvent", "ToolResultEvent", "TextDeltaEvent"]:
        assert kind in kinds, kinds
    assert all(event.session_id == conversation for event in events)
    numbers = [event.seq for event in events[1:]]
    assert UNSET not in numbers and numbers == sorted(set(numbers)), numbers
    start, end = next(event for event in events if isinstance(event, models.TurnStartEvent)), events[-1]
    assert events[0].message_id in start.messages
    assert end.turn_id == start.turn_id and end.outcome == "done" and end.usage.output > 0, end
    result = next(event for event in events if isinstance(event, models.ToolResultEvent))
    assert result.is_error is False and result.tool == "read_file", result


async def web_socket(client):
    conversation = begin(client)
    address = URL.replace("http", "ws", 1) + "/ws"
    async with websockets.connect(address, additional_headers={"Authorization": f"Bearer {TOKEN}"}) as socket:

        async def say(request):
            await socket.send(json.dumps(request.to_dict()))

        async def heard():
            return read(await socket.recv(), ["Event", "Reply"])

        await say(models.PingRequest(type_=models.PingRequestType.PING, id="1"))
        pong = await heard()
        assert isinstance(pong, models.PongReply) and pong.in_reply_to == "1", pong
        kind = models.MessageRequestType.MESSAGE
        await say(models.MessageRequest(type_=kind, text=TOOL, session_id=conversation, key="once"))
        events = [await heard()]
        while not isinstance(events[-1], models.TurnEndEvent):
            events.append(await heard())
        # The reply and the first event may come in either order.
        events.sort(key=lambda event: not isinstance(event, models.AcceptedReply))
        check(events, conversation)
        await socket.send('{"type":"ping","unknown":1}')
        problem = await heard()
        assert isinstance(problem, models.ProblemReply) and problem.code == "bad_message", problem


TOOL = '!tool read_file {"path": "foreword.yaml"}\n!then\n!say That was it.'


def main():
    client = AuthenticatedClient(base_url=URL, token=TOKEN)
    plain_requests(client)
    server_sent_events(client)
    asyncio.run(web_socket(client))
    print("plain requests, server-sent events, WebSocket")


main()
