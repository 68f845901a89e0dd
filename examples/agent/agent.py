# An agent with a model of its own that keeps its turns in a Throughline server. Killed at any moment
# and run again with the same arguments, it repeats no step that was stored.
import json, sys, urllib.parse, urllib.request

server, chat, message, content, provider = sys.argv[1:]
turns = f"{server}/api/chats/{urllib.parse.quote(chat, safe='')}/turns"

def post(path, body):
    headers = {"Content-Type": "application/json"}  # and "Authorization": "Bearer TOKEN"
    request = urllib.request.Request(turns + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)

def lamp(arguments):
    print("The tool runs.", flush=True)
    return "on"

def model(steps):  # ask yours here; this one looks at the lamp, and then says what it saw
    if not steps:
        function = {"name": "lamp", "arguments": "{}"}
        return {"content": "", "tool_calls": [{"id": f"{message}-c", "type": "function", "function": function}]}
    return {"content": f"The lamp is {steps[-1]['content']}."}

turn = post("", {"id": message, "content": content, "provider": provider, "model": "my-model"})
steps = turn.get("messages", [])  # what was stored before this, of the same turn
while turn["state"] == "open":
    step = {"id": f"{message}-{len(steps) + 1}"}  # the same id again if it is stored again
    if steps and "tool_calls" in steps[-1]:  # this call has no result: its tool runs, or runs again
        call = steps[-1]["tool_calls"][0]
        result = lamp(json.loads(call["function"]["arguments"]))
        step |= {"role": "tool", "tool_call_id": call["id"], "content": result}
    else:
        step |= {"role": "assistant", **model(steps)}
    if step["role"] == "tool" or "tool_calls" in step:
        post(f"/{message}/steps", {"messages": [step]})
    else:  # session_id: what your provider resumes in its next turn of this chat
        end = {"usage": {"input_tokens": 40, "output_tokens": 5, "cost_usd": 0.25}, "messages": [step]}
        post(f"/{message}/end", {**end, "session_id": turn["session_id"] or f"{provider} began at {message}"})
        break
    steps.append(step)
