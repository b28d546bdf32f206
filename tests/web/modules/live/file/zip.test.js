import {crc32Of, zipOf} from '../../../../../src/show/page/live/file/zip.js';
import {equal, test} from '../../harness.js';

const bytesOf = (text) => new TextEncoder().encode(text);

test('the checksum is that of zip', () => {
  equal(crc32Of(bytesOf('')), 0);
  equal(crc32Of(bytesOf('123456789')), 0xcbf43926);
});

// Returns a little-endian number of an archive.
const numberAt = (archive, place, size) => [...archive.slice(place, place + size)].reduceRight((sum, byte) => sum * 256 + byte, 0);

test('an archive lists files and links, and leads to their contents', async () => {
  const files = [{name: 'run/가.txt', bytes: bytesOf('abc')}, {name: 'run/latest', link: 'step'}];
  const archive = new Uint8Array(await new Blob(zipOf(files)).arrayBuffer());
  const end = archive.length - 22;
  equal(numberAt(archive, end, 4), 0x06054b50);
  equal(numberAt(archive, end + 10, 2), 2);
  equal(numberAt(archive, end + 12, 4) + numberAt(archive, end + 16, 4), end);
  let place = numberAt(archive, end + 16, 4);
  for (const {name, bytes, link} of files) {
    equal(numberAt(archive, place, 4), 0x02014b50);
    equal(numberAt(archive, place + 38, 4) >>> 28, link === undefined ? 8 : 10);  // S_IFREG, S_IFLNK
    const length = numberAt(archive, place + 28, 2);
    equal(new TextDecoder().decode(archive.slice(place + 46, place + 46 + length)), name);
    const content = numberAt(archive, place + 42, 4) + 30 + length;
    equal([...archive.slice(content, content + numberAt(archive, place + 20, 4))], [...(bytes ?? bytesOf(link))]);
    place += 46 + length;
  }
  equal(place, end);
});
