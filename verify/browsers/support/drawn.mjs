// People for screenshots of meetings: drawn, since nobody sits before a headless browser.

export const PEOPLE = [
  {
    name: "Mara Lindqvist",
    wall: ["#274b5a", "#16303c"],
    shirt: "#d9a441",
    skin: "#e8b893",
    hair: "#4a2f22",
    long: true,
  },
  { name: "Tomás Reyes", wall: ["#4a3f52", "#29242f"], shirt: "#4f9d8b", skin: "#c98f68", hair: "#1f1a17" },
  { name: "Ines Okafor", wall: ["#5a4a36", "#332a20"], shirt: "#e07a5f", skin: "#7d4f35", hair: "#17110e", long: true },
  { name: "Jun Watanabe", wall: ["#36503f", "#1f3026"], shirt: "#8fa8d6", skin: "#efc8a4", hair: "#2a2a30" },
];

/**
 * Runs in the page: a camera that sees one drawn person, breathing, and a microphone that hears
 * them hum.
 */
export function drawPerson({ wall, shirt, skin, hair, long }) {
  const canvas = Object.assign(document.createElement("canvas"), { width: 960, height: 540 });
  const pen = canvas.getContext("2d");
  const ellipse = (x, y, width, height, colour) => {
    pen.fillStyle = colour;
    pen.beginPath();
    pen.ellipse(x, y, width, height, 0, 0, 2 * Math.PI);
    pen.fill();
  };
  const draw = () => {
    const sway = Math.sin(performance.now() / 900) * 5;
    const light = pen.createLinearGradient(0, 0, 960, 540);
    light.addColorStop(0, wall[0]);
    light.addColorStop(1, wall[1]);
    pen.fillStyle = light;
    pen.fillRect(0, 0, 960, 540);
    ellipse(160, 90, 240, 200, "rgb(255 255 255 / 5%)");
    if (long) ellipse(480 + sway, 300, 128, 190, hair);
    ellipse(480, 590 + sway / 2, 265, 190, shirt);
    ellipse(480 + sway / 2, 400, 42, 56, skin);
    if (!long) ellipse(480 + sway, 232, 110, 118, hair);
    ellipse(480 + sway, 275, 95, 122, skin);
    pen.fillStyle = hair;
    pen.beginPath();
    pen.ellipse(480 + sway, 205, 104, 62, 0, Math.PI, 2 * Math.PI);
    pen.fill();
    for (const side of [-1, 1]) ellipse(480 + sway + side * 36, 275, 8, 9, "#1d1613");
    pen.strokeStyle = "#00000066";
    pen.lineWidth = 6;
    pen.lineCap = "round";
    pen.beginPath();
    pen.arc(480 + sway, 322, 30, 0.25 * Math.PI, 0.75 * Math.PI);
    pen.stroke();
  };
  setInterval(draw, 50);
  draw();
  const voice = () => {
    const audio = new AudioContext();
    const mouth = audio.createMediaStreamDestination();
    const tone = new OscillatorNode(audio, { frequency: 220 });
    tone.connect(mouth);
    tone.start();
    return mouth.stream;
  };
  navigator.mediaDevices.getUserMedia = async ({ video }) => (video ? canvas.captureStream(20) : voice());
}
