import { expect, test } from "vitest";
import { figureInWords, valueWords, words } from "../src/settings";

test("labels of points are the words of the terminal", () => {
  expect(words("population.size = 1MiB")).toBe("size 1MiB");
  expect(words("stale=20%", "=")).toBe("stale 20 %");
  expect(words("fail=host=h1", "=")).toBe("fail host=h1");
  expect(words("network.uplink = 1GB/s, disk_read = 2GB/s")).toBe("uplink 1GB/s, disk read 2GB/s");
  expect(words("stations.a.rate = 1/s, stations.b.rate = 2/s")).toBe("stations.a.rate 1/s, stations.b.rate 2/s");
  expect(words('service = {"erlang":{"phases":4,"scv":4}}')).toBe("service erlang (phases 4, scv 4)");
  expect(valueWords(["a", 2])).toBe("a, 2");
  // Planted: what is no label of settings stays as it is, also once it is in words.
  for (const text of ["host=h1", "crush-straw, 128 groups", "osd.3 = a = b", "size 1MiB", "16 servers; disk = 1", ""]) expect(words(text)).toBe(text);
});

test("the marks of figures are in words", () => {
  const axis = { label: "rate", unit: "bytes/s" };
  const kind = { type: "box", x: "point", y: axis, boxes: [{ label: "disk = 1GB/s" }] };
  const figure = { id: "f", title: "F", caption: "", kind } as unknown as Parameters<typeof figureInWords>[0];
  expect(JSON.stringify(figureInWords(figure))).toContain('"label":"disk 1GB/s"');
  // The data keep their keys.
  expect(JSON.stringify(figure)).toContain('"label":"disk = 1GB/s"');
});
