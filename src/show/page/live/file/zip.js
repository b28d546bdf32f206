// Zip archives without compression.

const kTable = Uint32Array.from({length: 256}, (_, byte) => {
  for (let bit = 0; bit < 8; ++bit) {
    byte = byte & 1 ? byte >>> 1 ^ 0xedb88320 : byte >>> 1;
  }
  return byte;
});

export const crc32Of = (bytes) => ~bytes.reduce((crc, byte) => kTable[(crc ^ byte) & 255] ^ crc >>> 8, ~0) >>> 0;

// Returns little-endian bytes of [value, size in bytes] pairs.
const packed = (fields) => fields.flatMap(([value, size]) => Array.from({length: size}, (_, i) => value >>> 8 * i & 255));

const dosDate = (date) => Math.max(0, date.getFullYear() - 1980) << 9 | date.getMonth() + 1 << 5 | date.getDate();
const dosTime = (date) => date.getHours() << 11 | date.getMinutes() << 5 | date.getSeconds() >> 1;

const kVersion = 20;
const kUnix = 3 << 8;     // system that made the archive, so that unzip makes links
const kUtf8 = 1 << 11;    // flag: names are UTF-8
const kFile = 0o100644 * 0x10000;
const kLink = 0o120777 * 0x10000;

// Returns the parts of an archive. `files` are {name, bytes} or {name, link: path that it leads to}.
export function zipOf(files, date = new Date()) {
  const encoder = new TextEncoder();
  const parts = [];
  const directory = [];
  let begin = 0;
  const add = (part, to) => to.push(part instanceof Uint8Array ? part : Uint8Array.from(packed(part)));
  for (const {name, bytes, link} of files) {
    const content = bytes ?? encoder.encode(link);
    const path = encoder.encode(name);
    const common = [[kVersion, 2], [kUtf8, 2], [0, 2], [dosTime(date), 2], [dosDate(date), 2], [crc32Of(content), 4],
                    [content.length, 4], [content.length, 4], [path.length, 2], [0, 2]];
    [[[0x04034b50, 4], ...common], path, content].forEach((part) => add(part, parts));
    [[[0x02014b50, 4], [kUnix | kVersion, 2], ...common, [0, 2], [0, 2], [0, 2], [link === undefined ? kFile : kLink, 4],
      [begin, 4]], path].forEach((part) => add(part, directory));
    begin += 30 + path.length + content.length;
  }
  const size = directory.reduce((sum, part) => sum + part.length, 0);
  add([[0x06054b50, 4], [0, 4], [files.length, 2], [files.length, 2], [size, 4], [begin, 4], [0, 2]], directory);
  return [...parts, ...directory];
}
