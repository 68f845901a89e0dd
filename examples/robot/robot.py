"""A robot beside `throughline serve`, with a model of its own: python3 robot.py URL NAME CAMERA.jpg
Its senses come as lines of JSON: {"heard": text, "id": id}, {"seen": name}, {"pat": 1 or 2}, {"sleep": true}."""
import http.client, json, sys, threading, time, urllib.request, uuid

URL, NAME, CAMERA = sys.argv[1:]
CHAT = f"robot:{NAME}"
LOST = OSError, ValueError, http.client.HTTPException  # the server is away, or an answer was cut off
LABEL = {"what": {"type": "string"}, "trigger": {"type": "string"}}
SKILLS = [{"name": f"remember_{how}ly", "description": f"Record what you did that earned a {how} reaction.",
           "parameters": {"type": "object", "properties": LABEL, "required": ["what"]}} for how in ("positive", "negative")]

def call(method, path, body=None, kind="application/json", key=None):  # a repeat has the same ids or key
    data = json.dumps(body).encode() if isinstance(body, dict) else body
    headers = {"content-type": kind, **({"idempotency-key": key} if key else {})}
    while True:
        try:
            asked = urllib.request.Request(URL + path, data, headers, method=method)
            with urllib.request.urlopen(asked, timeout=30) as answer:
                return json.load(answer)
        except LOST as error:
            if getattr(error, "code", 503) not in (429, 503):
                raise
            time.sleep(0.2)

def post(path, **body):
    return call("POST", path, body, key=str(uuid.uuid4()))

def model(text, tools=SKILLS):  # your voice model goes here: it answers with words, or calls a tool
    if "scratched your head" in text:
        return "", ("remember_positively", {"what": "told a joke", "trigger": "head scratch"})
    return f"You said: {text}", None

def hear(text):
    if skill := model(text)[1]:  # it learned of a reaction
        sentiment = "positive" if skill[0] == "remember_positively" else "negative"
        kept = post("/api/feedback", sentiment=sentiment, channel="touch", chat_id=CHAT, **skill[1])
        print("kept", kept["name"], flush=True)

def listen():
    while True:
        try:
            with urllib.request.urlopen(URL + "/api/events", timeout=60) as lines:
                for line in lines:
                    field, _, value = line.decode().strip().partition(": ")
                    name = value if field == "event" else name if field == "data" else ""
                    event = json.loads(value) if (field, name) == ("data", "inject") else {}
                    if event.get("client") == NAME:
                        hear(event["text"])
                        post("/api/restart/delivered", client=NAME, id=event["id"])
        except LOST:
            time.sleep(0.2)

def beat():
    while True:
        call("PUT", "/api/session/heartbeat", {"client": NAME})
        time.sleep(10)

run = post("/api/session", client=NAME)
print("began", run["restart_type"], json.dumps(run["text"]), flush=True)
hear(run["text"])
post("/api/restart/delivered", client=NAME)
post("/api/feedback/consent", messages=True, frames=True, audio=True, export=True,
     wording="I keep the last two minutes of picture and sound.")  # after somebody agreed to this
for work in (beat, listen):
    threading.Thread(target=work, daemon=True).start()
for sense in map(json.loads, sys.stdin):
    call("POST", "/api/frames", open(CAMERA, "rb").read(), "image/jpeg")
    call("POST", "/api/audio", bytes(16_000), "application/octet-stream")  # half a second of silence
    if "heard" in sense:
        said = (sense["id"], "USER", sense["heard"]), (sense["id"] + ".a", "ASSISTANT", model(sense["heard"])[0])
        post(f"/api/chats/{CHAT}/append", client=NAME,
             messages=[{"id": id, "role": role, "content": text} for id, role, text in said])
    if "seen" in sense:
        post("/api/person", name=sense["seen"])
    if "pat" in sense:
        post("/api/touch", level=sense["pat"])
    if "sleep" in sense:
        post("/api/sleep", state="asleep")
    print("did", json.dumps(sense), flush=True)
post("/api/session/end", client=NAME)
