"""Opens a report's page in a real browser, as a phone and as a desk would, and says what is wrong with it.

Speaks Chromium's DevTools protocol over its pipe: no driver, no package. Exit 1 with a line for each fault."""
import argparse
import base64
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib


class Browser:
    def __init__(self, profile):
        ours, theirs = os.pipe(), os.pipe()

        def plumb():  # Chromium reads commands from 3 and writes answers to 4.
            os.dup2(theirs[0], 13), os.dup2(ours[1], 14)
            os.dup2(13, 3), os.dup2(14, 4)

        self.process = subprocess.Popen(
            [shutil.which("chromium"), "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
             f"--user-data-dir={profile}", "--remote-debugging-pipe", "about:blank"],
            preexec_fn=plumb, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(theirs[0]), os.close(ours[1])
        self.read, self.write = ours[0], theirs[1]
        self.rest, self.number, self.session, self.events = b"", 0, None, []

    def message(self):
        while b"\0" not in self.rest:
            chunk = os.read(self.read, 1 << 16)
            if not chunk:
                raise SystemExit("chromium ended")
            self.rest += chunk
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **parameters):
        self.number += 1
        command = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            command["sessionId"] = self.session
        os.write(self.write, json.dumps(command).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise SystemExit(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def wait(self, method):
        while not any(e.get("method") == method for e in self.events):
            self.events.append(self.message())

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise SystemExit(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")


def colors(png):
    """How many colours a PNG of 8-bit RGB or RGBA has."""
    at, data, width, channels = 8, b"", 0, 3
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at:at + 8])
        body = png[at + 8:at + 8 + size]
        if kind == b"IHDR":
            width, channels = struct.unpack(">I", body[:4])[0], {2: 3, 6: 4}[body[9]]
        if kind == b"IDAT":
            data += body
        at += size + 12
    raw, stride, seen, before = zlib.decompress(data), width * channels, set(), None
    before = bytearray(stride)
    for row in range(len(raw) // (stride + 1)):
        kind, line = raw[row * (stride + 1)], bytearray(raw[row * (stride + 1) + 1:(row + 1) * (stride + 1)])
        for i in range(stride):
            left, up, corner = line[i - channels] if i >= channels else 0, before[i], before[i - channels] if i >= channels else 0
            if kind == 4:
                guess = left + up - corner
                near = [abs(guess - left), abs(guess - up), abs(guess - corner)]
                add = (left, up, corner)[near.index(min(near))]
            else:
                add = (0, left, up, (left + up) // 2)[kind]
            line[i] = (line[i] + add) & 255
        before = line
        seen.update(bytes(line[i:i + channels]) for i in range(0, stride, channels))
    return len(seen)


def check(browser, page, name, width, height, mobile, scheme, shots):
    faults = []
    browser.events.clear()
    browser.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    browser.call("Page.navigate", url=page.as_uri())
    browser.wait("Page.loadEventFired")
    browser.evaluate("new Promise(done => requestAnimationFrame(() => setTimeout(done, 50)))")
    data = browser.evaluate("({...document.documentElement.dataset})")
    if int(data["viewportWidth"]) != width:
        faults.append(f"the viewport is {data['viewportWidth']} wide, expected {width}")
    if data["overflows"] != "false":
        wide = browser.evaluate("[...document.querySelectorAll('main *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1 "
                                "&& !e.closest('.scroll, pre')).slice(0, 3).map(e => e.outerHTML.slice(0, 100))")
        faults.append(f"the page is wider than the screen: {wide}")
    if int(data["bars"]) < 10 or int(data["untitledBars"]):
        faults.append(f"{data['bars']} bars, {data['untitledBars']} of them without a title")
    # A tap on a bar in the middle of each chart shows what it is.
    tapped = browser.evaluate("""(() => {
      const silent = [];
      for (const svg of document.querySelectorAll('svg')) {
        const bars = svg.querySelectorAll('.bar'), bar = bars[bars.length >> 1], tip = document.getElementById('tip');
        tip.hidden = true;
        bar.dispatchEvent(new PointerEvent('pointerdown', {bubbles: true}));
        if (tip.hidden || tip.textContent !== bar.dataset.tip || !/\\d/.test(tip.textContent)) silent.push(bar.outerHTML.slice(0, 100));
      }
      document.getElementById('tip').hidden = true;
      return silent;
    })()""")
    faults += [f"a tap says nothing: {bar}" for bar in tapped]
    for event in browser.events:
        if event.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded") or (
                event.get("method") == "Runtime.consoleAPICalled" and event["params"]["type"] in ("error", "warning")):
            faults.append(f"console: {json.dumps(event['params'])[:300]}")
        if event.get("method") == "Network.requestWillBeSent" and event["params"]["request"]["url"] != page.as_uri():
            faults.append(f"asks for {event['params']['request']['url']}")
    whole = browser.evaluate("document.documentElement.scrollHeight")
    for kind, clip in (("screen", None), ("page", {"x": 0, "y": 0, "width": width, "height": whole, "scale": 1})):
        options = {"clip": clip, "captureBeyondViewport": True} if clip else {}
        png = base64.b64decode(browser.call("Page.captureScreenshot", format="png", **options)["data"])
        (shots / f"{name}-{kind}.png").write_bytes(png)
        if kind == "screen" and (count := colors(png)) < 20:
            faults.append(f"the screenshot has {count} colours: it is blank")
    return data, [f"{name}: {fault}" for fault in faults]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("shots", type=pathlib.Path, help="the folder for screenshots")
    arguments = parser.parse_args()
    arguments.shots.mkdir(parents=True, exist_ok=True)
    faults = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(profile)
        target = next(t for t in browser.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        browser.session = browser.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            browser.call(domain + ".enable")
        for name, width, height, mobile, scheme in (("phone", 390, 844, True, "light"), ("phone-dark", 390, 844, True, "dark"),
                                                    ("desk", 1280, 900, False, "light")):
            data, found = check(browser, arguments.page.resolve(), name, width, height, mobile, scheme, arguments.shots)
            faults += found
        browser.session = None
        browser.call("Browser.close")
        browser.process.wait(timeout=30)
    print("\n".join(faults) if faults else f"the page has {data['bars']} bars that say what they are and fits the phone and the desk")
    sys.exit(bool(faults))


main()
