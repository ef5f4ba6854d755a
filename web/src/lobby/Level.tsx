import { useEffect, useRef } from "react";

/** A bar that follows the microphone, so that people see that it works before they join. */
export function Level({ stream }: { stream: MediaStream }) {
  const bar = useRef<HTMLSpanElement>(null);

  useEffect(() => {
    const context = new AudioContext();
    const analyser = context.createAnalyser();
    analyser.fftSize = 512;
    context.createMediaStreamSource(stream).connect(analyser);
    const samples = new Float32Array(analyser.fftSize);
    let frame = 0;
    const draw = () => {
      analyser.getFloatTimeDomainData(samples);
      const power = samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length;
      // -60 dB is silence and 0 dB is full scale.
      const level = Math.max(0, Math.min(1, 1 + (10 * Math.log10(power + 1e-9)) / 60));
      bar.current?.style.setProperty("--level", level.toFixed(2));
      frame = requestAnimationFrame(draw);
    };
    draw();
    return () => {
      cancelAnimationFrame(frame);
      void context.close();
    };
  }, [stream]);

  return (
    <span className="level" aria-hidden="true">
      <span ref={bar} />
    </span>
  );
}
