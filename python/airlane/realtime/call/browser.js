// The end of a call in a browser: the same as peer.py, with `tell(name, content)` to the program that started it.
// Times are those of performance.now(), in ms.
"use strict";

const TEXTURE_STEP = 2;
const state = { connection: null, generator: null, options: null, over: false, connected: false, early: [] };

function bytesOf(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

function begin(options) {
  state.options = options;
  state.camera = options.camera && {
    ...options.camera,
    planes: options.camera.planes.map((plane) => ({ ...plane, bytes: bytesOf(plane.bytes) })),
  };
  const connection = (state.connection = new RTCPeerConnection());
  connection.onicecandidate = (event) => {
    if (event.candidate) tell("signal", { candidate: event.candidate.toJSON() });
  };
  connection.onconnectionstatechange = () => {
    if (connection.connectionState === "connected" && !state.connected) {
      state.connected = true;
      tell("connected", {});
      if (state.camera) capture();
    } else if (connection.connectionState === "failed") {
      tell("failed", { why: state.connected ? "ICE lost the other end" : "ICE found no path to the other end" });
    }
  };
  connection.ontrack = (event) => {
    if (options.receives) show(event.track);
  };
  if (options.sends) state.generator = new MediaStreamTrackGenerator({ kind: "video" });
  setInterval(measure, options.stats_ms);
}

async function offer() {
  const { connection, options, generator } = state;
  const direction = options.sends ? (options.receives ? "sendrecv" : "sendonly") : "recvonly";
  connection.addTransceiver(generator ?? "video", { direction });
  await connection.setLocalDescription();
  tell("signal", { description: connection.localDescription.toJSON() });
}

async function signal(content) {
  const { connection } = state;
  if (content.candidate) {
    if (connection.remoteDescription) await connection.addIceCandidate(content.candidate);
    else state.early.push(content.candidate);
    return;
  }
  await connection.setRemoteDescription(content.description);
  for (const candidate of state.early.splice(0)) await connection.addIceCandidate(candidate);
}

// Frames are taken at their times; one whose time has passed by an interval is left out.
async function capture() {
  const { camera, options } = state;
  const writer = state.generator.writable.getWriter();
  const begun = performance.now();
  let number = 0;
  while (!state.over) {
    const wait = begun + (1000 * number) / options.fps - performance.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    number = Math.max(number, Math.floor(((performance.now() - begun) * options.fps) / 1000));
    const bytes = picture(camera, number);
    const frame = new VideoFrame(bytes, {
      format: "I420",
      codedWidth: options.width,
      codedHeight: options.height,
      timestamp: Math.round((number * 1e6) / options.fps),
    });
    tell("sent", [[number, performance.now()]]);
    await writer.write(frame);
    number += 1;
  }
}

// A window into the texture, as `Camera.frame`.
function picture(camera, number) {
  const { width, height, reach } = camera;
  const angle = (2 * Math.PI * number) / (camera.pan_s * state.options.fps);
  const place = (turn) => Math.round((reach * (1 + turn)) / 2) * TEXTURE_STEP;
  const [left, top] = [place(Math.sin(angle)), place(Math.sin(2 * angle))];
  const bytes = new Uint8Array((width * height * 3) / 2);
  let at = 0;
  camera.planes.forEach((plane, index) => {
    const step = index === 0 ? 1 : 2;
    for (let row = 0; row < height / step; row += 1) {
      const from = (top / step + row) * plane.columns + left / step;
      bytes.set(plane.bytes.subarray(from, from + width / step), at);
      at += width / step;
    }
  });
  const cells = camera.cells;
  const value = blocks(number);
  for (let column = 0; column < width; column += 1) {
    const bit = value[Math.floor((column * cells) / width)];
    for (let row = 0; row < camera.row; row += 1) bytes[row * width + column] = bit ? camera.light : camera.dark;
  }
  return bytes;
}

function crc(number) {
  let value = 0xff;
  for (const shift of [16, 8, 0]) {
    value ^= (number >> shift) & 0xff;
    for (let bit = 0; bit < 8; bit += 1) value = ((value << 1) ^ (value & 0x80 ? state.options.polynomial : 0)) & 0xff;
  }
  return value;
}

function blocks(number) {
  const check = crc(number);
  const bits = [];
  for (let bit = 23; bit >= 0; bit -= 1) bits.push((number >> bit) & 1);
  for (let bit = 7; bit >= 0; bit -= 1) bits.push((check >> bit) & 1);
  return bits;
}

async function show(track) {
  const reader = new MediaStreamTrackProcessor({ track, maxBufferSize: 8 }).readable.getReader();
  for (;;) {
    const { done, value: frame } = await reader.read();
    if (done) return;
    const at = performance.now();
    const { codedWidth, codedHeight } = frame;
    const visible = frame.visibleRect;
    const bytes = new Uint8Array(frame.allocationSize());
    const layout = await frame.copyTo(bytes);
    frame.close();
    const number = read(bytes, layout[0], visible?.width ?? codedWidth, visible?.height ?? codedHeight);
    tell("shown", [[number, at, visible?.width ?? codedWidth, visible?.height ?? codedHeight, 0]]);
  }
}

// The number in the middle half of each block, as `read_number`; -1 if its check is wrong.
function read(bytes, { offset, stride }, width, height) {
  const { cells, row_share: share, threshold } = state.options;
  const row = Math.floor(height / share);
  const [first, last] = [Math.floor(row / 4), Math.max(Math.floor(row / 4) + 1, row - Math.floor(row / 4))];
  const cell = width / cells;
  let number = 0;
  let check = 0;
  for (let index = 0; index < cells; index += 1) {
    const from = Math.floor((index + 0.25) * cell);
    const to = Math.max(from + 1, Math.floor((index + 0.75) * cell));
    let sum = 0;
    for (let y = first; y < last; y += 1) for (let x = from; x < to; x += 1) sum += bytes[offset + y * stride + x];
    const bit = sum / ((last - first) * (to - from)) > threshold ? 1 : 0;
    if (index < 24) number = number * 2 + bit;
    else check = check * 2 + bit;
  }
  return crc(number) === check ? number : -1;
}

async function measure() {
  if (state.over) return;
  const at = performance.now();
  const report = await state.connection.getStats();
  const stats = [...report.values()].filter((one) => state.options.types.includes(one.type));
  tell("stats", { at, stats });
}

async function stop() {
  await measure();
  state.over = true;
}
