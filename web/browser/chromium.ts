// Chromium without a window, driven over a pipe by the DevTools protocol: messages in JSON, each ended by a zero byte.

import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";

/** Where Debian and other systems put it; CHROMIUM names another place. */
const PLACES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

interface Message {
  id?: number;
  method?: string;
  params?: Record<string, unknown>;
  result?: Record<string, unknown>;
  error?: { message: string };
}

/** The program to start. */
function program(): string {
  const named = process.env["CHROMIUM"];
  const found = named === undefined ? PLACES.find((place) => existsSync(place)) : named;
  if (found === undefined) {
    throw new Error(`no Chromium at ${PLACES.join(" or ")}: install Debian's \`chromium\`, or set CHROMIUM to its path`);
  }
  return found;
}

/** One browser with one page. */
export class Chromium {
  /** What the console got as errors since the last page was opened. */
  errors: string[] = [];
  private next = 1;
  private text = "";
  private session: string | undefined;
  private readonly waiting = new Map<number, (message: Message) => void>();
  private loaded: (() => void) | undefined;

  private constructor(
    private readonly child: ChildProcess,
    private readonly out: Writable,
    private readonly profile: string,
  ) {}

  static async start(): Promise<Chromium> {
    const profile = mkdtempSync(join(tmpdir(), "towtank-chromium-"));
    const flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"];
    const child = spawn(program(), [...flags, "--remote-debugging-pipe", `--user-data-dir=${profile}`, "about:blank"], {
      stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"],
    });
    const browser = new Chromium(child, child.stdio[3] as Writable, profile);
    (child.stdio[4] as Readable).on("data", (chunk: Buffer) => browser.hear(chunk.toString("utf8")));
    const { targetId } = await browser.call("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await browser.call("Target.attachToTarget", { targetId, flatten: true });
    browser.session = String(sessionId);
    for (const domain of ["Page", "Runtime", "Log"]) await browser.call(`${domain}.enable`);
    return browser;
  }

  private hear(chunk: string): void {
    const parts = (this.text + chunk).split("\0");
    this.text = parts.pop() ?? "";
    for (const part of parts) this.take(JSON.parse(part) as Message);
  }

  private take(message: Message): void {
    if (message.id !== undefined) {
      this.waiting.get(message.id)?.(message);
      this.waiting.delete(message.id);
    } else if (message.method === "Page.loadEventFired") this.loaded?.();
    else if (message.method === "Runtime.exceptionThrown") this.errors.push(JSON.stringify(message.params));
    else if (message.method === "Runtime.consoleAPICalled" && message.params?.["type"] === "error") {
      this.errors.push(JSON.stringify(message.params["args"]));
    } else if (message.method === "Log.entryAdded") {
      const entry = message.params?.["entry"] as { level: string; text: string };
      if (entry.level === "error") this.errors.push(entry.text);
    }
  }

  /** Calls a method and waits for its answer. */
  call(method: string, params: Record<string, unknown> = {}): Promise<Record<string, unknown>> {
    const id = this.next++;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, ({ result, error }) => {
        if (error === undefined) resolve(result ?? {});
        else reject(new Error(`${method}: ${error.message}`));
      });
      const session = this.session === undefined ? {} : { sessionId: this.session };
      this.out.write(`${JSON.stringify({ id, method, params, ...session })}\0`);
    });
  }

  /** Opens a file at a size, in a theme, on the screen or as paper. */
  async open(file: string, view: { width: number; height: number; scheme: "light" | "dark"; print?: boolean }): Promise<void> {
    const { width, height, scheme, print } = view;
    this.errors = [];
    await this.call("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: false });
    const features = [{ name: "prefers-color-scheme", value: scheme }];
    await this.call("Emulation.setEmulatedMedia", { media: print === true ? "print" : "screen", features });
    const loaded = new Promise<void>((resolve) => (this.loaded = resolve));
    await this.call("Page.navigate", { url: `file://${file}` });
    await loaded;
    await this.settled();
    if (print === true) await this.evaluate(() => void dispatchEvent(new Event("beforeprint")));
    await this.settled();
  }

  /** Waits until figures have drawn themselves at their width. */
  async settled(): Promise<void> {
    await this.evaluate(
      () => new Promise<void>((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(() => resolve())))),
    );
  }

  /** Presses a key that is no character, such as ArrowDown. */
  async press(key: string): Promise<void> {
    const codes: Record<string, number> = { ArrowDown: 40, ArrowUp: 38 };
    const event = { key, code: key, windowsVirtualKeyCode: codes[key] ?? 0 };
    await this.call("Input.dispatchKeyEvent", { type: "rawKeyDown", ...event });
    await this.call("Input.dispatchKeyEvent", { type: "keyUp", ...event });
  }

  /** Drags the mouse from one place of the window to another, in pixels. */
  async drag(from: readonly [number, number], to: readonly [number, number]): Promise<void> {
    const mouse = (type: string, [x, y]: readonly [number, number], held: boolean): Promise<unknown> =>
      this.call("Input.dispatchMouseEvent", { type, x, y, button: "left", buttons: held ? 1 : 0, clickCount: 1 });
    await mouse("mouseMoved", from, false);
    await mouse("mousePressed", from, true);
    for (const share of [0.3, 0.7, 1]) {
      await mouse("mouseMoved", [from[0] + share * (to[0] - from[0]), from[1] + share * (to[1] - from[1])], true);
    }
    await mouse("mouseReleased", to, false);
  }

  /** What a function returns in the page. It is sent as text, so it knows nothing but its argument. */
  async evaluate<T, A = undefined>(run: (argument: A) => T | Promise<T>, argument?: A): Promise<T> {
    const expression = `(${run.toString()})(${JSON.stringify(argument) ?? ""})`;
    const answer = await this.call("Runtime.evaluate", { expression, returnByValue: true, awaitPromise: true });
    const thrown = answer["exceptionDetails"];
    if (thrown !== undefined) throw new Error(`in the page: ${JSON.stringify(thrown)}`);
    return (answer["result"] as { value: T }).value;
  }

  /** A picture of what is in sight, or of the whole page, as PNG. */
  async picture(whole: boolean): Promise<Buffer> {
    const { data } = await this.call("Page.captureScreenshot", { format: "png", captureBeyondViewport: whole });
    return Buffer.from(String(data), "base64");
  }

  /** How many sheets the opened page takes on paper. */
  async sheets(): Promise<number> {
    await this.call("Emulation.setEmulatedMedia", { media: "", features: [] });
    const { data } = await this.call("Page.printToPDF", { preferCSSPageSize: true, printBackground: true });
    const text = Buffer.from(String(data), "base64").toString("latin1");
    return [...text.matchAll(/\/Type\s*\/Page\b/g)].length;
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.child.once("exit", resolve));
    this.session = undefined;
    await this.call("Browser.close");
    await ended;
    rmSync(this.profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}
