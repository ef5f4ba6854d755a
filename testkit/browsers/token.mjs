import { createHmac } from "node:crypto";

const KEY = "devkey";
const SECRET = "secret";
const HOUR_S = 3600;

const encode = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");

/** An access token for the development key, unless `options` override it. */
export function token(room, identity, options = {}) {
  const { grants = {}, name = identity, lifetime = HOUR_S, secret = SECRET, key = KEY, ...claims } = options;
  const now = Math.floor(Date.now() / 1000);
  const payload = {
    iss: key,
    sub: identity,
    name,
    nbf: now - HOUR_S,
    exp: now + lifetime,
    video: { room, roomJoin: true, canUpdateOwnMetadata: true, ...grants },
    ...claims,
  };
  const signed = `${encode({ alg: "HS256", typ: "JWT" })}.${encode(payload)}`;
  return `${signed}.${createHmac("sha256", secret).update(signed).digest("base64url")}`;
}
