/** The flags of a browser without media encryption, and the script that its pages then need. */
export const IN_CLEAR = { flags: ["--disable-webrtc-encryption"], beforehand: withoutEncryption };

/**
 * Two things that livekit-client waits for do not exist in this mode: data channels, which Chromium
 * refuses to make without DTLS, and a connection state of "connected", which includes DTLS. So the
 * former pretend to be opening, and the latter is the state of ICE.
 */
function withoutEncryption() {
  class Unopened extends EventTarget {
    readyState = "connecting";
    bufferedAmount = 0;
    constructor(label) {
      super();
      this.label = label;
    }
    close() {}
  }
  window.RTCPeerConnection = class extends RTCPeerConnection {
    constructor(...given) {
      super(...given);
      this.addEventListener("iceconnectionstatechange", () => this.dispatchEvent(new Event("connectionstatechange")));
    }
    get connectionState() {
      const names = { checking: "connecting", completed: "connected" };
      return names[this.iceConnectionState] ?? this.iceConnectionState;
    }
    createDataChannel(label) {
      return new Unopened(label);
    }
  };
}
