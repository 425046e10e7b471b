// A drawing as PNG, for programs that take no SVG: the file of the drawing, painted by the browser at twice its size.

import { saveBlob } from "../dom";

const SCALE = 2;

/** Saves the text of an SVG file as a picture; what comes back fails where the browser cannot paint it. */
export async function savePicture(name: string, svg: string): Promise<void> {
  const image = new Image();
  // The page's policy lets it load data, and nothing else.
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = image.naturalWidth * SCALE;
  canvas.height = image.naturalHeight * SCALE;
  const context = canvas.getContext("2d");
  if (context === null) throw new Error("the browser has no canvas");
  context.scale(SCALE, SCALE);
  context.drawImage(image, 0, 0);
  const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, "image/png"));
  if (blob === null) throw new Error("the browser made no PNG");
  saveBlob(name, blob);
}
